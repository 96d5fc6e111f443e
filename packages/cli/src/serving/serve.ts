/**
 * The server in this process, until somebody stops it.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createLog, loadConfig, startServer } from '@holdfast/server'
import type { Config, ConfigFlags } from '@holdfast/server'
import { clientEnvironment } from '../config.ts'
import { exitCodeOfSignal } from '../exit-code.ts'
import { note } from '../failure.ts'
import { write } from '../output/print.ts'
import { shellWord } from '../output/shell-word.ts'
import { startSpinner } from '../spinner.ts'
import { giveMemoryBack } from './give-memory-back.ts'
import { greeting } from './greeting.ts'

export async function serve(flags: ConfigFlags): Promise<void> {
  const config = loadConfig(flags)
  const spinner = startSpinner('looking for a backend')
  const log = createLog({ level: config.logLevel, format: config.logFormat }, spinner.print)
  const server = await startServer(config, log, spinner.say).finally(spinner.stop)
  const { program } = clientEnvironment()
  await write(
    greeting(server, { program, onStop: config.sessions.onStop, calls: callWords(config, server.url), isTerminal: process.stdout.isTTY }),
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

/** What a call needs in another terminal, which has neither our flags nor our environment: nothing, where both changed nothing. */
function callWords({ home }: Config, url: string): { readonly before: string; readonly after: string } {
  return {
    before: home === join(homedir(), '.holdfast') ? '' : `HOLDFAST_HOME=${shellWord(home)} `,
    after: url === addressIn(home) ? '' : ` --url ${url}`,
  }
}

/** Where a client looks for the server of that home. */
function addressIn(home: string): string | null {
  try {
    const { host, port } = loadConfig({ home }, {})
    return `http://${host}:${port}`
  } catch {
    // Decision: our own file is another one, and what is wrong with this one does not matter here.
    return null
  }
}
