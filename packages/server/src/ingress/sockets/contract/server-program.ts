/** A whole server in a process of its own, to be killed. Says its address on stdout. */
import { startServer } from '../../../app.ts'
import { loadConfig } from '../../../config.ts'
import { createLog } from '../../../telemetry/log.ts'

const server = await startServer(
  loadConfig(),
  createLog({ level: 'error', format: 'json' }, (line) => process.stderr.write(line)),
)
process.stdout.write(`${server.url}\n`)
