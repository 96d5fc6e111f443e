/**
 * Enforces a timeout that the guest should have enforced: destroys the sandbox from outside.
 *
 * A guest that does not answer a ping is frozen: the command fails at its timeout plus 5 seconds. One that answers is only slow, on a busy
 * machine for example, and has longer. The answer is awaited from the moment the ping is sent, so a server that was stopped itself
 * does not blame a healthy guest for the time that it missed.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { LiveSandbox } from '../../sandboxes/live-sandbox.ts'
import type { MomentaryReader } from './momentary-reader.ts'

export interface WatchdogTimes {
  /** After the timeout: when the guest is asked whether it is there. */
  readonly askAfterMs: number
  /** How long it has to answer. */
  readonly answerMs: number
  /** After the timeout: how long a guest that answers may take to end the program. */
  readonly graceMs: number
}

const TIMES: WatchdogTimes = { askAfterMs: 2_500, answerMs: 2_500, graceMs: 10_000 }

export interface Watchdog {
  /** Why the sandbox was destroyed; `null` as long as it was not. */
  readonly barked: HoldfastError | null
  /** Who reads the output, and is left behind before the guest is blamed. */
  readBy(reader: MomentaryReader): void
  stop(): void
}

/** Counts from now, so it is started before the program is. */
export function startWatchdog(live: LiveSandbox, timeoutMs: number, times: WatchdogTimes = TIMES): Watchdog {
  const { askAfterMs, answerMs, graceMs } = times
  let reader: MomentaryReader | null = null
  let barked: HoldfastError | null = null
  let isStopped = false
  let timer = setTimeout(() => void ask(), timeoutMs + askAfterMs)

  async function ask(): Promise<void> {
    const isThere = await answersWithin(live, answerMs)
    if (isStopped) return
    if (isThere) timer = setTimeout(giveUp, Math.max(0, graceMs - askAfterMs))
    else bark(`the guest does not answer, ${timeoutMs} ms of the command's timeout have passed; its sandbox was destroyed`)
  }

  function giveUp(): void {
    if (reader?.leaveBehind()) timer = setTimeout(giveUp, graceMs)
    else bark(`the guest did not end the program within ${timeoutMs + graceMs} ms; its sandbox was destroyed`)
  }

  function bark(message: string): void {
    barked = new HoldfastError('guest_unreachable', message)
    // Decision: what could not be destroyed now is found by its name later.
    live.destroy().catch(() => undefined)
  }

  return {
    get barked() {
      return barked
    },
    readBy(next) {
      reader = next
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function answersWithin(live: LiveSandbox, answerMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      // An answer that lies in the socket unread is read within a turn of the event loop.
      setImmediate(() => setImmediate(() => resolve(false)))
    }, answerMs)
    const settle = (isThere: boolean) => {
      clearTimeout(timer)
      resolve(isThere)
    }
    pinged(live).then(
      () => settle(true),
      () => settle(false),
    )
  })
}

/** Over the next connection when one breaks. Rejects once the sandbox is gone. */
async function pinged(live: LiveSandbox): Promise<void> {
  for (;;) {
    const inside = await live.connected()
    try {
      return await inside.ping()
    } catch {
      await inside.closed
    }
  }
}
