/** `shell`, `exec -t` and `attach` at a real terminal: keys, size, leaving, coming back, and the terminal given back as it was. */
import { expect, test } from 'vitest'
import { PROGRAM } from '../../../test/environment/holdfast-program.ts'
import { onBubblewrap } from './contract/on-bubblewrap.ts'
import { pseudoTerminal, withoutTerminals } from './contract/pseudo-terminal.ts'

/** A prompt that no command prints by itself. */
const PROMPT = 'ready$ '

onBubblewrap(
  'terminals',
  (stage) => {
    const open = (...args: readonly string[]) => pseudoTerminal([PROGRAM, ...args], stage().server.environment)
    const shell = async (key: string) => {
      const terminal = open('shell', key, '-c', `PS1='${PROMPT}' exec sh -i`)
      await terminal.until(PROMPT)
      return terminal
    }

    test('a shell has the size of the window, follows it, and its exit code is ours', async () => {
      const terminal = await shell('size')
      terminal.type('stty size\r')
      await terminal.until('30 100')
      terminal.resize(120, 40)
      terminal.type('until [ "$(stty size)" = "40 120" ]; do sleep 0.1; done; echo re""sized\r')
      await terminal.until('resized')
      terminal.type('exit 7\r')
      expect(await terminal.ended).toMatchObject({ code: 7, cooked: true })
    })

    test('the prompt names the session and the directory', async () => {
      const terminal = open('shell', 'where am I')
      await terminal.until('where_am_I:/workspace$ ')
      terminal.type('cd /tmp\r')
      await terminal.until('where_am_I:/tmp$ ')
      terminal.type('exit 5\r')
      expect(await terminal.ended).toMatchObject({ code: 5 })
    })

    test('Ctrl-C is a key: it ends what runs inside, and the shell stays', async () => {
      const terminal = await shell('interrupt')
      // A program that reads: it runs when it answers. A shell that is about to start one may miss the key.
      terminal.type('cat; echo not reached\r')
      terminal.type('begun\r')
      await terminal.until('begun\r\nbegun')
      terminal.type('\u0003')
      await terminal.until(PROMPT)
      terminal.type('echo st""ill here\rexit\r')
      await terminal.until('still here')
      const end = await terminal.ended
      expect(end.cooked).toBe(true)
      expect(end.screen).not.toContain('\nnot reached')
    })

    test('~. leaves it running, and attach finds it as it was', async () => {
      const terminal = await shell('detach')
      // A question to the terminal: its answer must not be typed into the shell of the person who comes back.
      terminal.type("word=kept; printf '\\033[6n'\r")
      await terminal.until('\u001B[6n')
      terminal.type('~?')
      await terminal.until('leave it running')
      terminal.type('~.')
      const { code, cooked, screen } = await terminal.ended
      expect({ code, cooked }).toEqual({ code: 0, cooked: true })
      const [, session = '', execution = ''] = /holdfast attach (ses_\w+) (exe_\w+)/.exec(screen) ?? []
      expect((await stage().server.holdfast(['ps', 'detach', '-q'])).stdout.trim()).toBe(execution)
      const back = open('attach', session, execution)
      await back.until(PROMPT)
      back.type('echo $word; exit 3\r')
      await back.until('kept')
      const end = await back.ended
      expect(end).toMatchObject({ code: 3, cooked: true })
      expect(end.screen).not.toContain('\u001B[6n')
    })

    test('what a program switched on in the terminal is switched off when its person leaves', async () => {
      const terminal = await shell('modes')
      terminal.type(String.raw`printf '\033[?1049h\033[?1000h\033[?25lin the oth''er screen'` + '\r')
      await terminal.until('in the other screen')
      terminal.type('\r~.')
      const { screen } = await terminal.ended
      for (const undone of ['\u001B[?1049l', '\u001B[?1000l', '\u001B[?25h']) expect(screen).toContain(undone)
    })

    test('a signal from outside gives the terminal back', async () => {
      const terminal = await shell('signal')
      terminal.kill('SIGTERM')
      expect(await terminal.ended).toMatchObject({ code: 143, cooked: true })
    })

    test('a server that is killed and started again is found again, with the shell as it was', async () => {
      const terminal = await shell('restart')
      terminal.type('word=kept\r')
      await terminal.until(PROMPT)
      await stage().server.stop('SIGKILL')
      stage().server = await stage().server.again()
      terminal.type('\recho $word\r')
      await terminal.until('kept')
      terminal.type('exit 5\r')
      expect(await terminal.ended).toMatchObject({ code: 5, cooked: true })
    })

    test('~. leaves also when the server is away, and says what becomes of it', async () => {
      const terminal = await shell('away')
      await stage().server.stop('SIGKILL')
      terminal.type('typed for nobody\r~.')
      const { code, cooked, screen } = await terminal.ended
      stage().server = await stage().server.again()
      expect({ code, cooked }).toEqual({ code: 125, cooked: true })
      expect(screen).toContain('left without an answer from the server')
    })

    test('exec -t runs on a terminal, with arguments as they are', async () => {
      const terminal = open(
        'exec',
        '-s',
        'tty',
        '-t',
        '--env',
        'WORD=a b',
        '--',
        'sh',
        '-c',
        'test -t 0 && echo "$1|$WORD"; read line; exit "$line"',
        'sh',
        'x  y',
      )
      await terminal.until('x  y|a b')
      terminal.type('9\r')
      expect(await terminal.ended).toMatchObject({ code: 9, cooked: true })
    })

    test('without a terminal it is refused with one sentence and 125', async () => {
      expect(await stage().server.holdfast(['shell', 'none'])).toMatchObject({
        code: 125,
        stderr: 'holdfast: shell needs a terminal, but stdout is none\n',
      })
    })
  },
  { missing: withoutTerminals() },
)
