/**
 * The choices of scope in Simplified Chinese.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import type { ScopeTexts } from './scope-texts.ts'

export const ZH_HANS: ScopeTexts = {
  global: {
    label: '全局（所有人共享）',
    description: '所有聊天和用户共用一个沙箱，包括其中的文件和进程。',
  },
  chat: {
    label: '每个聊天（推荐）',
    description: '每个群聊或私聊拥有独立的沙箱；群内成员共用同一个沙箱。',
  },
  user: {
    label: '聊天中的每个用户',
    description: '每个用户在每个聊天中拥有独立的沙箱；群成员之间不共享文件。',
  },
  conversation: {
    label: '每个对话',
    description: '聊天中的每个对话拥有独立的沙箱；开始新对话时会使用新的沙箱。',
  },
  message: {
    label: '每条消息（完全隔离）',
    description: '每条消息都使用新的沙箱；不会为下一条消息保留任何内容。',
  },
  app: {
    label: '应用',
    description: '用户的每个任务拥有独立的沙箱，用于构建和运行应用。',
  },
  desktop: {
    label: '桌面',
    description: '用户的每个任务拥有独立的沙箱，用于浏览器和桌面操作，与其应用沙箱分开。',
  },
}
