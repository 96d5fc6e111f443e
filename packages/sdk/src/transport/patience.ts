/**
 * How long a call waits: until its caller's signal fires, or its time is up.
 *
 * Made by hand because `AbortSignal.any` holds on to what it was made from for as long as a long-lived signal lives.
 */
import { HoldfastError } from '../errors.ts'

export interface Patience {
  readonly signal: AbortSignal
  /** The time does not count any more; the caller's signal still does. */
  stopClock(): void
  /** Lets go of the caller's signal. Safe to call twice. */
  end(): void
  /** The same, and whatever still waits stops. */
  abandon(): void
}

export interface Waiting {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
  /** Lets go of the signals it follows. Safe to call twice. */
  end(): void
}

/** Fires when one of them does, with its reason. */
export function linkedSignal(...signals: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController()
  const follow = (event: Event) => fire(event.target)
  const fire = (target: unknown) => controller.abort(signals.find((signal) => signal === target)?.reason)
  for (const signal of signals) {
    if (signal?.aborted === true) fire(signal)
    signal?.addEventListener('abort', follow, { once: true })
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    end() {
      for (const signal of signals) signal?.removeEventListener('abort', follow)
    },
  }
}

/** `what` stands in the message when the time is up. */
export function patience({ signal, timeoutMs }: Waiting, what: string): Patience {
  const linked = linkedSignal(signal)
  const expire = () => linked.abort(timedOut(what, timeoutMs ?? 0))
  let clock = timeoutMs === undefined || !Number.isFinite(timeoutMs) ? undefined : setTimeout(expire, timeoutMs)
  const stopClock = () => {
    clearTimeout(clock)
    clock = undefined
  }
  const end = () => {
    stopClock()
    linked.end()
  }
  return {
    signal: linked.signal,
    stopClock,
    end,
    abandon() {
      end()
      linked.abort()
    },
  }
}

function timedOut(what: string, timeoutMs: number): HoldfastError {
  return new HoldfastError({
    code: 'request_timed_out',
    message: `${what} was not answered within ${timeoutMs} ms`,
    retry: 'after-delay',
    hint: 'Give a larger timeoutMs, or see whether the server is busy.',
  })
}

/** Resolves after that time; rejects with the signal's reason when it fires first. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(reasonOf(signal))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** What the one who aborted said; usually an error, but anything can be thrown. */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError')
}

/** The promise's result; the signal's reason when it fires first. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  let stop = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(reasonOf(signal))
  })
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
