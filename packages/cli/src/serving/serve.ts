/**
 * The server in this process, until somebody stops it.
 */
import { createLog, loadConfig, startServer } from '@holdfast/server'
import type { ConfigFlags } from '@holdfast/server'
import { clientEnvironment } from '../config.ts'
import { exitCodeOfSignal } from '../exit-code.ts'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { startSpinner } from '../spinner.ts'
import { giveMemoryBack } from './give-memory-back.ts'
import { greeting } from './greeting.ts'

export async function serve(flags: ConfigFlags): Promise<void> {
  const config = loadConfig(flags)
  const spinner = startSpinner('looking for a backend')
  const log = createLog({ level: config.logLevel, format: config.logFormat })
  const server = await startServer(config, log, spinner.say).finally(spinner.stop)
  const { program } = clientEnvironment()
  await write(
    greeting(server, { program, onStop: config.sessions.onStop, calls: callWords(flags, server.url), isTerminal: process.stdout.isTTY }),
  )
  giveMemoryBack()

  const stopped = Promise.withResolvers<void>()
  const hurry = (name: NodeJS.Signals) => process.exit(exitCodeOfSignal(name))
  const stop = () => {
    note('stopping: no new work is taken, and what runs is waited for; Ctrl-C again stops at once')
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, stop).on(name, hurry)
    server.close().then(stopped.resolve, stopped.reject)
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, stop)
  await stopped.promise
  note('stopped')
  process.exit(0)
}

/** What another terminal needs to say so that it finds this server: nothing, where the flags changed nothing of it. */
function callWords(flags: ConfigFlags, url: string): { readonly before: string; readonly after: string } {
  const usual = loadConfig({ ...(flags.config === undefined ? {} : { config: flags.config }) })
  const own = loadConfig(flags)
  return {
    before: own.home === usual.home ? '' : `HOLDFAST_HOME=${quoted(own.home)} `,
    after: url === `http://${usual.host}:${usual.port}` ? '' : ` --url ${url}`,
  }
}

function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
