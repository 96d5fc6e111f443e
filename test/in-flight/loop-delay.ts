/**
 * Loaded into the server with `--import`: writes to stderr, once a second, the longest time for which its event loop was held up.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 1
const NANOSECONDS_PER_MS = 1_000_000

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delays.enable()
setInterval(() => {
  process.stderr.write(`event loop held up for ${Math.round(delays.max / NANOSECONDS_PER_MS - RESOLUTION_MS)} ms\n`)
  delays.reset()
}, 1_000).unref()
