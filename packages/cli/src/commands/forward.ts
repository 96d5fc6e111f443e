/** `holdfast forward`: a web app inside a session on a port of this machine, wherever the server is. */
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { note } from '../failure.ts'
import { findSession } from '../find-session.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { takeSession, withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { openForward } from '../forwarding/local-forward.ts'
import { interruption } from '../interruption.ts'
import { write } from '../output/print.ts'

/** An hour of the app for who finds the link, and a new one each hour. */
const LINK_SECONDS = 3600

export function addForward(program: Command): void {
  const forward = program
    .command('forward')
    .description('make a web app inside reachable on a port of this machine, until Ctrl-C')
    .argument('<names...>', 'the session, then the port of the app, or here:inside for another port here')
    .usage('[options] <session> <port>')
    .addHelpText(
      'after',
      `
Examples:
  holdfast forward demo 5173                     http://localhost:5173 is the app
  holdfast forward demo 8080:5173                http://localhost:8080 is it
  holdfast forward demo 0:5173                   on any free port
  holdfast forward --url https://sandboxes.example demo 5173

HTTP and WebSockets. Every user of this machine can use the port, and nobody from elsewhere.`,
    )
  withServer(withSession(forward)).action(async (names: readonly string[], flags: ServerFlags & SessionFlags) => {
    const { name, rest } = takeSession(names, flags, ['port'])
    const { here, inside } = portsOf(rest[0] ?? '')
    const holdfast = await openClient(flags)
    const session = await findSession(holdfast, name)
    const stop = interruption()
    const makeLink = () => session.preview(inside, { ttlSeconds: LINK_SECONDS })
    const open = await openForward({ host: '127.0.0.1', port: here, serverUrl: holdfast.url, makeLink })
    try {
      await write(`${open.url.replace('127.0.0.1', 'localhost')}\n`)
      note(`leads to port ${inside} of ${session.key}; Ctrl-C ends it`)
      await new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }))
    } finally {
      open.close()
      stop.end()
    }
  })
}

export function portsOf(text: string): { readonly here: number; readonly inside: number } {
  const [, first = '', second = first] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? []
  const [here, inside] = [Number(first), Number(second)]
  if (first === '' || here > 65_535 || inside < 1 || inside > 65_535)
    throw wrongUse(`the port must be a number such as 5173, or here:inside such as 8080:5173, but is ${JSON.stringify(text)}`)
  return { here, inside }
}
