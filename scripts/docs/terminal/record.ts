/**
 * Runs what a person types in a terminal, line by line, and notes what really appears: the transcript behind the picture in the README.
 *
 * The server and the sessions are real, in a home of their own. Lines that only wait or tidy up are run and not noted.
 */
import { openShell } from '../typed-shell.ts'

interface Line {
  readonly typed: string
  readonly isNoted: boolean
}

const shown = (typed: string): Line => ({ typed, isNoted: true })
const hidden = (typed: string): Line => ({ typed, isNoted: false })

/** A server in the background, once it answers; its job is forgotten, so that the shell does not comment on its end. */
const UP = 'holdfast up > server.log 2>&1 &'
const READY = [hidden('disown'), hidden('until grep -qs Ctrl-C server.log; do sleep 0.1; done')]

const LINES: readonly Line[] = [
  ...[hidden(UP), ...READY],
  shown(`holdfast exec -s demo -c 'echo kept > note.txt; python3 -c "print(6*7)"'`),
  shown(`holdfast exec -s demo -- touch /usr/x`),
  shown(`holdfast exec -s demo -d --name counter -c 'while sleep 0.2; do echo tick $((i+=1)); done'`),
  hidden('until holdfast logs demo counter | grep -q "tick 3"; do sleep 0.1; done'),
  shown('kill -9 $(cat ~/.holdfast/server.pid)'),
  ...[hidden('rm server.log'), shown(UP), ...READY],
  shown('grep before server.log'),
  shown('holdfast exec -s demo -- cat note.txt'),
  shown('holdfast ps demo'),
  shown('holdfast logs demo counter | tail -n 3'),
]

/** Nothing is left behind: neither a sandbox nor a server. */
const TIDYING = [
  'holdfast sessions cancel demo',
  'while ls ~/.holdfast/sandboxes | grep -q .; do sleep 0.1; done',
  'pid=$(cat ~/.holdfast/server.pid); kill $pid; while kill -0 $pid 2>/dev/null; do sleep 0.1; done',
]

/** The transcript: `$ ` and a line, then what it printed. */
export async function recordSession(port: number): Promise<string> {
  const shell = openShell({ HOLDFAST_PORT: String(port), HOLDFAST_BACKEND: 'bubblewrap' })
  try {
    const transcript: string[] = []
    for (const { typed, isNoted } of LINES) {
      const printed = await shell.type(typed)
      if (isNoted) transcript.push(`$ ${typed}`, ...printed)
    }
    return `${transcript.join('\n')}\n`
  } finally {
    for (const line of TIDYING) await shell.type(line)
    await shell.close()
  }
}
