/**
 * The server in this process, for one Box client on its pipes: until the client leaves, or somebody stops it.
 *
 * Nothing but the protocol goes to stdout. Whoever started it waits two seconds for its end, so it is over by then: sessions and what runs
 * in them go on, and the next start finds them again.
 */
import { isHoldfastError } from '@holdfast/protocol/errors'
import { createLog, loadConfig, startServer } from '@holdfast/server'
import type { ConfigFlags, RunningServer } from '@holdfast/server'
import { note } from '../failure.ts'

/** Below the two seconds after which a client becomes violent. */
const FAREWELL_MS = 1_500
/** An earlier server that is on its way out holds the home for a moment. */
const HOME_WAIT_MS = 5_000
const HOME_RETRY_MS = 100

export async function serveBox(flags: ConfigFlags): Promise<void> {
  const config = loadConfig(flags)
  const log = createLog({ level: config.logLevel, format: config.logFormat })
  const server = await startWhenFree(async () => startServer(config, log, undefined, { hasBoxPipes: true }))
  const { box } = server
  if (box === null) throw new Error('the Box door is not open')
  const left = Promise.withResolvers<void>()
  const leave = () => {
    setTimeout(() => process.exit(0), FAREWELL_MS)
    left.resolve()
  }
  process.stdin.once('end', leave)
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, leave)
  note(`speaking to a Box client on stdin and stdout (backend: ${server.chosen.backend.kind}); the API is at ${server.url}`)
  try {
    await Promise.race([box.serveStdio(process.stdin, process.stdout), left.promise])
  } finally {
    leave()
    await server.close()
  }
  process.exit(0)
}

async function startWhenFree(start: () => Promise<RunningServer>): Promise<RunningServer> {
  const deadline = Date.now() + HOME_WAIT_MS
  for (;;) {
    try {
      return await start()
    } catch (error) {
      if (!isHoldfastError(error, 'home_locked') || Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, HOME_RETRY_MS))
    }
  }
}
