/**
 * The choices of scope in Spanish.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import type { ScopeTexts } from './scope-texts.ts'

export const ES_ES: ScopeTexts = {
  global: {
    label: 'Global (compartido por todos)',
    description: 'Todos los chats y usuarios comparten un mismo entorno aislado, con sus archivos y procesos.',
  },
  chat: {
    label: 'Por chat (recomendado)',
    description: 'Cada grupo o chat privado tiene su propio entorno aislado; los miembros de un grupo lo comparten.',
  },
  user: {
    label: 'Por usuario en el chat',
    description: 'Cada usuario tiene su propio entorno aislado en cada chat; los miembros de un grupo no comparten archivos.',
  },
  conversation: {
    label: 'Por conversación',
    description: 'Cada conversación de un chat tiene su propio entorno aislado; una conversación nueva empieza con uno nuevo.',
  },
  message: {
    label: 'Por mensaje (aislado)',
    description: 'Cada mensaje usa un entorno aislado nuevo; no se conserva nada para el mensaje siguiente.',
  },
  app: {
    label: 'Aplicación',
    description: 'Cada tarea de un usuario tiene su propio entorno aislado para crear y ejecutar una aplicación.',
  },
  desktop: {
    label: 'Escritorio',
    description: 'Cada tarea de un usuario tiene su propio entorno aislado para el navegador y el escritorio, aparte del de la aplicación.',
  },
}
