/**
 * The scripted server in memory: opened, dropped and counted by a test, without a socket or a process.
 */
import type { OpenTransport } from '../transports/transport.ts'
import { createScript } from './script.ts'
import type { Script } from './script.ts'

export interface MemoryServer {
  readonly script: Script
  readonly open: OpenTransport
  /** How often it was opened, and how many are open now. */
  readonly opened: number
  readonly live: number
  /** Attempts to open fail from here on, with this reason; `null` ends that. */
  refuse(reason: string | null): void
  /** Attempts hang until their signal fires. */
  hang(): void
  /** Ends the newest connection from the server's side. */
  drop(reason: string): void
  /** As if the server had sent it. */
  say(message: string): void
  /** Settles after the nth attempt to open. */
  attempt(nth: number): Promise<void>
}

export function memoryServer(script = createScript()): MemoryServer {
  const watchers = new Set<() => void>()
  let [attempts, live] = [0, 0]
  let refusal: string | null = null
  let isHanging = false
  let drop = (_reason: string) => {}
  let say = (_message: string) => {}
  return {
    script,
    async open(receive, signal) {
      attempts += 1
      for (const watcher of watchers) watcher()
      if (refusal !== null) throw new Error(refusal)
      if (isHanging) await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      const { promise: ended, resolve } = Promise.withResolvers<string>()
      live += 1
      let isOpen = true
      const end = (reason: string) => {
        if (isOpen) live -= 1
        isOpen = false
        resolve(reason)
      }
      drop = end
      say = receive
      return {
        async send(message) {
          if (!isOpen) throw new Error('not open')
          void script.answer(message).then((text) => (text === null || !isOpen ? undefined : receive(text)))
        },
        ended,
        close: async () => end('closed here'),
      }
    },
    get opened() {
      return attempts
    },
    get live() {
      return live
    },
    refuse: (reason) => void (refusal = reason),
    hang: () => void (isHanging = true),
    drop: (reason) => drop(reason),
    say: (message) => say(message),
    attempt(nth) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (attempts >= nth) resolve()
      }
      watchers.add(look)
      look()
      return promise
    },
  }
}
