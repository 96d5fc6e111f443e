/**
 * A short run of a program of the host, for probes: its output, bounded in size and time.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { execFile } from 'node:child_process'

export interface Trial {
  readonly succeeded: boolean
  readonly output: string
}

const TRIAL_TIMEOUT_MS = 10_000
const MAX_OUTPUT_BYTES = 256 * 1024

/** Never throws: a program that cannot be run is a trial that failed. `uid` only where the server is root. */
export function tryProgram(
  path: string,
  argv: readonly string[],
  options: { readonly uid?: number; readonly signal?: AbortSignal } = {},
): Promise<Trial> {
  const identity = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }
  const signal = options.signal === undefined ? {} : { signal: options.signal }
  return new Promise((resolve) => {
    execFile(
      path,
      argv,
      { env: { LC_ALL: 'C' }, cwd: '/', timeout: TRIAL_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, ...identity, ...signal },
      (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`.trim()
        resolve({ succeeded: error === null, output: output === '' && error !== null ? error.message : output })
      },
    )
  })
}
