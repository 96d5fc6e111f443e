/**
 * A real terminal for this program: a pseudo-terminal whose other end a test types into and reads.
 *
 * Node cannot make one; Python can. What the terminal is like when the program has ended is told too.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { PATIENCE_MS } from '../../../../test/servers/patience.ts'

const MASTER = `
import fcntl, json, os, pty, select, signal, struct, sys, termios
plan = json.loads(sys.argv[1])
def control(fd):
    os.setsid()
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)
    for target in (0, 1, 2): os.dup2(fd, target)
    if fd > 2: os.close(fd)
def size(fd, cols, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, cols, 0, 0))
master, slave = pty.openpty()
size(slave, plan['cols'], plan['rows'])
pid = os.fork()
if pid == 0:
    os.close(master)
    control(slave)
    os.execve(plan['argv'][0], plan['argv'], plan['env'])
orders = b''
status = None
while True:
    ready, _, _ = select.select([master, 0] if status is None else [master], [], [], 0.05 if status is None else 0.2)
    if master in ready:
        try:
            os.write(1, os.read(master, 65536))
        except OSError:
            pass
    elif status is not None:
        break
    if 0 in ready:
        orders += os.read(0, 65536)
        while b'\\n' in orders:
            line, orders = orders.split(b'\\n', 1)
            order = json.loads(line)
            if 'write' in order: os.write(master, order['write'].encode())
            elif 'resize' in order: size(master, *order['resize'])
            else: os.kill(pid, getattr(signal, order['kill']))
    if status is None:
        ended, code = os.waitpid(pid, os.WNOHANG)
        if ended: status = code
flags = termios.tcgetattr(slave)
cooked = bool(flags[3] & termios.ICANON and flags[3] & termios.ECHO and flags[1] & termios.OPOST)
os.write(2, json.dumps({'code': os.waitstatus_to_exitcode(status), 'cooked': cooked}).encode())
`

export interface TerminalEnd {
  readonly code: number
  /** Keys are shown and come line by line, as a shell wants it. */
  readonly cooked: boolean
  /** Everything that was printed. */
  readonly screen: string
}

export interface PseudoTerminal {
  type(text: string): void
  resize(cols: number, rows: number): void
  kill(signal: 'SIGTERM' | 'SIGHUP' | 'SIGKILL'): void
  /** Waits until this was printed after what was waited for before. */
  until(words: string): Promise<void>
  readonly ended: Promise<TerminalEnd>
}

/** Why there can be none here; `null` when there can. */
export function withoutTerminals(): string | null {
  return spawnSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']).status === 0
    ? null
    : 'there is no python3 to make a pseudo-terminal'
}

export function pseudoTerminal(argv: readonly string[], environment: NodeJS.ProcessEnv): PseudoTerminal {
  const plan = { argv: [process.execPath, ...argv], env: { ...environment, TERM: 'xterm-256color' }, cols: 100, rows: 30 }
  const master = spawn('python3', ['-c', MASTER, JSON.stringify(plan)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let screen = ''
  let seen = 0
  let told = ''
  let stir = Promise.withResolvers<void>()
  let isOver = false
  master.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    stir.resolve()
    stir = Promise.withResolvers()
  })
  master.stderr.setEncoding('utf8').on('data', (text: string) => (told += text))
  master.stdin.on('error', () => undefined)
  const order = (wish: object) => master.stdin.write(`${JSON.stringify(wish)}\n`)
  const ended = once(master, 'close').then((): TerminalEnd => {
    isOver = true
    stir.resolve()
    const end: { readonly code: number; readonly cooked: boolean } = JSON.parse(told)
    return { ...end, screen }
  })
  ended.catch(() => undefined)
  return {
    ended,
    type: (text) => order({ write: text }),
    resize: (cols, rows) => order({ resize: [cols, rows] }),
    kill: (signal) => order({ kill: signal }),
    async until(words) {
      const until = performance.now() + PATIENCE_MS
      for (let found = screen.indexOf(words, seen); found < 0; found = screen.indexOf(words, seen)) {
        if (isOver) throw new Error(`the program ended without ${JSON.stringify(words)}: ${screen}${told}`)
        await Promise.race([stir.promise, delay(until - performance.now(), undefined, { ref: false })])
        if (performance.now() >= until) throw new Error(`${JSON.stringify(words)} was not printed: ${JSON.stringify(screen)}${told}`)
      }
      seen = screen.indexOf(words, seen) + words.length
    },
  }
}
