/**
 * The port to a Box server: whole messages out and in, whatever carries them.
 *
 * A transport knows no calls. It is opened with what takes the messages, and is over once `ended` has settled.
 */

export interface BoxTransport {
  /** Settles when the message was handed on, so that a slow server is felt. */
  send(message: string): Promise<void>
  /** Why it is over. Never rejects. */
  readonly ended: Promise<string>
  /** Settles when nothing of it is left. Safe to call twice. */
  close(): Promise<void>
}

/** Rejects when it cannot be opened; then nothing is left behind. */
export type OpenTransport = (receive: (message: string) => void, signal: AbortSignal) => Promise<BoxTransport>
