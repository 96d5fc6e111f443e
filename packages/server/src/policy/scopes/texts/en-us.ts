/**
 * The choices of scope in English.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import type { ScopeTexts } from './scope-texts.ts'

export const EN_US: ScopeTexts = {
  global: {
    label: 'Global (shared by all)',
    description: 'All chats and users share one sandbox, with its files and its processes.',
  },
  chat: {
    label: 'Per chat (recommended)',
    description: 'Each group or private chat has its own sandbox; everyone in a group shares it.',
  },
  user: {
    label: 'Per user in chat',
    description: 'Each user has their own sandbox in each chat; members of a group do not share files.',
  },
  conversation: {
    label: 'Per conversation',
    description: 'Each conversation in a chat has its own sandbox; a new conversation begins with a new one.',
  },
  message: {
    label: 'Per message (isolated)',
    description: 'Each message gets a new sandbox; nothing is kept for the next message.',
  },
  app: {
    label: 'App',
    description: 'Each task of a user has its own sandbox for building and running an app.',
  },
  desktop: {
    label: 'Desktop',
    description: 'Each task of a user has its own sandbox for browser and desktop work, apart from its app sandbox.',
  },
}
