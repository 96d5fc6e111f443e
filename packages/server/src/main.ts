/** The server's process: `node main.ts` is `holdfast up` without its words, for service managers. */
import { isHoldfastError } from '@holdfast/protocol'
import { startServer } from './app.ts'
import { loadConfig } from './config.ts'
import { createLog } from './telemetry/log.ts'

try {
  const config = loadConfig()
  const server = await startServer(config, createLog({ level: config.logLevel, format: config.logFormat }))
  const stop = () => void server.close().then(() => process.exit(0))
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
} catch (error) {
  if (!isHoldfastError(error)) throw error
  process.stderr.write(`holdfast: ${error.message}\n`)
  process.exitCode = 1
}
