/** Terminals over real sockets and real sandboxes: typed into, resized, left, come back to, lost. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { startServer } from '../../app.ts'
import type { RunningServer } from '../../app.ts'
import { loadConfig } from '../../config.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { openTerminal, refusalOf } from './contract/terminal-client.ts'
import type { TerminalClient } from './contract/terminal-client.ts'

/** For clients that never come back. All others have as long as the test: a busy machine takes seconds to open a socket. */
const SHORT_GRACE_MS = 1_000

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`terminals on ${under.kind}${because(under)}`, () => {
    let home: string
    let server: RunningServer
    let key: string
    let session: string
    const clients: TerminalClient[] = []
    const logged: string[] = []

    const start = async (graceMs = 3_600_000) => {
      const grace = { HOLDFAST_SESSIONS_TERMINAL_GRACE_SECONDS: String(graceMs / 1000) }
      const environment = { HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind, ...grace }
      server = await startServer(
        loadConfig({}, environment),
        jsonLog('debug', (line) => logged.push(line)),
      )
      key = readFileSync(join(home, 'admin.key'), 'utf8').trim()
    }
    const restart = async (graceMs?: number) => {
      await server.close()
      await start(graceMs)
    }
    const request = async (path: string, method = 'GET', body?: object) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const exec = async (command: string) => ExecResult.parse(await (await request('/v1/exec', 'POST', { session: 'a', command })).json())
    const address = (query: Record<string, string> = {}) =>
      `${server.url}/v1/sessions/${session}/terminal?${new URLSearchParams(query).toString()}`
    const open = async (query: Record<string, string> = {}) => {
      const client = await openTerminal(address(query), { key })
      clients.push(client)
      return client
    }
    const execution = async (id: string) =>
      (await request(`/v1/sessions/${session}/executions/${id}`)).json() as Promise<{ status: string; ended_at: string }>

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-terminal-'))
      await start()
      session = (await exec('true')).session.id
    })
    afterEach(async () => {
      for (const client of clients.splice(0)) client.vanish()
      await request(`/v1/sessions/${session}/cancel-work`, 'POST', { processes: true, grace_ms: 0 })
    })
    afterAll(async () => {
      const { backend } = server.chosen
      await server.close()
      for (const { name } of await backend.list()) await backend.destroy(name)
      rmSync(home, { recursive: true, force: true })
    })

    test('a login shell answers, on a terminal, in the workspace, and its end is told', async () => {
      const terminal = await open({ cols: '100', rows: '30' })
      const { execution_id: id, session: view, seq } = await terminal.message('started')
      expect(view).toMatchObject({ id: session, key: 'a' })
      expect(seq).toBe(0)
      terminal.type('stty size; echo "$TERM $PWD $0 $((6*7))"\n')
      await terminal.reads(/30 100\r\nxterm-256color \/workspace bash 42\r\n/)
      terminal.type('exit 3\n')
      expect(await terminal.message('exit')).toMatchObject({ exit_code: 3, signal: null, status: 'completed' })
      expect(await terminal.closed()).toBe(1000)
      expect(await execution(id)).toMatchObject({
        status: 'completed',
        kind: 'command',
        name: null,
        exit_code: 3,
        output_seq: terminal.bytes().length,
      })
    })

    test('a program of one’s own runs where it is told, and sees each new size', async () => {
      const terminal = await open({ command: 'pwd; trap "stty size" WINCH; echo ready; while :; do sleep 0.01; done', cwd: '/tmp' })
      await terminal.reads(/^\/tmp\r\nready\r\n/)
      terminal.order({ type: 'resize', cols: 132, rows: 43 })
      await terminal.reads('43 132')
      terminal.order({ type: 'resize', cols: 40, rows: 10 })
      await terminal.reads('10 40')
    })

    test('Ctrl-C ends what runs in the foreground and leaves the shell', async () => {
      const terminal = await open({ command: 'PS1="$ " exec sh -i' })
      await terminal.reads('$ ')
      // What says so is in the foreground itself.
      terminal.type('sh -c "echo begun; exec sleep 600"\n')
      await terminal.reads(/begun\r\n$/)
      terminal.type('\u0003')
      await terminal.reads(/begun\r\n\^C\r?\n\$ /)
      terminal.type('echo after $?\n')
      await terminal.reads('after 130')
    })

    test('a signal reaches the program', async () => {
      const terminal = await open({ command: 'trap "echo caught; exit 7" USR1; echo ready; while :; do sleep 0.01; done' })
      await terminal.reads('ready')
      terminal.order({ type: 'signal', signal: 'SIGUSR1' })
      expect(await terminal.message('exit')).toMatchObject({ exit_code: 7 })
      expect(terminal.printed()).toContain('caught')
    })

    test('text of many bytes is the same on both ways, wherever it is cut', async () => {
      const text = 'grüße 漢字 🦊 ﷽ '
      const bytes = Buffer.from(text)
      const terminal = await open({ command: 'stty raw -echo; echo ready; cat' })
      await terminal.reads('ready')
      const before = terminal.bytes().length
      for (let cut = 1; cut < bytes.length; cut += 1) {
        terminal.type(bytes.subarray(0, cut))
        terminal.type(bytes.subarray(cut))
      }
      const expected = text.repeat(bytes.length - 1)
      await terminal.until(() => terminal.bytes().length - before >= Buffer.byteLength(expected) || undefined)
      expect(terminal.bytes().subarray(before).toString()).toBe(expected)
    })

    test('who detaches and comes back goes on byte for byte, and the program has gone on meanwhile', async () => {
      const counting =
        'i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); [ $i = 501 ] && until [ -e alone ]; do sleep 0.01; done; done'
      const first = await open({ command: `stty -echo; ${counting}; read answer; echo got $answer` })
      const { execution_id: id } = await first.message('started')
      await first.reads('line 500\r\n')
      first.order({ type: 'detach' })
      expect(await first.closed()).toBe(1000)
      await exec('touch alone')
      const second = await open({ execution: id, after: String(first.seq()) })
      expect(await second.message('started')).toMatchObject({ execution_id: id, seq: first.seq() })
      await second.reads('line 19999\r\n')
      second.type('yes\n')
      expect(await second.message('exit')).toMatchObject({ exit_code: 0 })
      const all = Buffer.concat([first.bytes(), second.bytes()]).toString()
      const expected = Array.from({ length: 20_000 }, (_, index) => `line ${index}\r\n`).join('')
      expect(all === `${expected}got yes\r\n`).toBe(true)
      // One that is over still tells its last part and its end.
      const third = await open({ execution: id, after: String(expected.length) })
      expect(await third.message('exit')).toMatchObject({ exit_code: 0 })
      expect(third.printed()).toBe('got yes\r\n')
    })

    test('who vanishes may come back within the grace', async () => {
      const first = await open({ command: 'echo ready; read answer; echo got $answer' })
      const { execution_id: id } = await first.message('started')
      await first.reads('ready')
      first.vanish()
      const second = await open({ execution: id })
      second.type('yes\n')
      await second.reads('got yes')
      expect(await second.message('exit')).toMatchObject({ exit_code: 0 })
    })

    test('a client that does not read costs the others nothing, and is told what it missed', async () => {
      const total = 30_000_000
      const slow = await open({ command: `stty raw -echo; read go; head -c ${total} /dev/zero | tr '\\0' x; echo; echo done; read go` })
      const { execution_id: id } = await slow.message('started')
      slow.socket.pause()
      const fast = await open({ execution: id })
      fast.type('\n')
      await fast.until(() => fast.seq() > total || undefined)
      await fast.reads(/done/)
      slow.socket.resume()
      await slow.until(() => slow.seq() > total || undefined)
      await slow.reads(/done/)
      await eventually(() => slow.seq()).toBe(fast.seq())
      expect(slow.messages.some(({ type }) => type === 'gap')).toBe(true)
      // What it never got, nobody kept for it.
      expect(slow.bytes().length).toBeLessThan(total / 2)
    })

    test.each([
      ['no JSON', 'resize me'],
      ['an unknown type', '{"type":"explode"}'],
      ['a wrong value', '{"type":"resize","cols":0,"rows":24}'],
      ['an unknown field', '{"type":"detach","why":"so"}'],
      ['no such signal', '{"type":"signal","signal":"SIGNONE"}'],
    ])('a message that is %s is answered with a problem and closed, and others are unharmed', async (_, text) => {
      const [bad, good] = [await open({ command: 'sleep 600' }), await open({ command: 'cat' })]
      bad.socket.send(text)
      expect(await bad.message('error')).toMatchObject({ problem: { code: 'invalid_request', status: 400 } })
      expect(await bad.closed()).toBe(1011)
      good.type('still here\n')
      await good.reads('still here')
    })

    test('a message that is too large, or no frame at all, closes the socket and harms nobody', async () => {
      const [large, wrong, good] = [
        await open({ command: 'sleep 600' }),
        await open({ command: 'sleep 600' }),
        await open({ command: 'cat' }),
      ]
      large.type(Buffer.alloc(1_048_577))
      expect(await large.closed()).toBe(1009)
      wrong.connection().write('this is no frame, masked or otherwise')
      expect(await wrong.closed()).toBe(1002)
      good.type('still here\n')
      await good.reads('still here')
    })

    test('a server that stops says so, and the terminal can be come back to after the next start', async () => {
      const first = await open({ command: 'stty -echo; echo ready; while read line; do echo heard $line; done' })
      const { execution_id: id } = await first.message('started')
      await first.reads('ready')
      first.type('before\n')
      await first.reads('heard before')
      await restart()
      expect(await first.closed()).toBe(1001)
      const second = await open({ execution: id, after: String(first.seq()), cols: '61', rows: '17' })
      second.type('after\n')
      await second.reads('heard after')
      expect(second.printed()).toBe('heard after\r\n')
      expect(await second.message('started')).toMatchObject({ session: { id: session, incarnation: 1 } })
      second.type('\u0004')
      expect(await second.message('exit')).toMatchObject({ exit_code: 0 })
    })

    test('what cannot be opened is refused as a request is, before there is a socket', async () => {
      const { execution_id: plain } = (await (
        await request(`/v1/sessions/${session}/executions`, 'POST', { command: 'sleep 600' })
      ).json()) as { execution_id: string }
      const refused = async (query: Record<string, string>) => (await refusalOf(address(query), { key })).body
      expect(await refused({ execution: plain })).toMatchObject({ status: 409, code: 'not_interactive' })
      expect(await refused({ execution: 'exe_none' })).toMatchObject({ status: 404, code: 'not_found' })
      expect(await refused({ cwd: '/no/such' })).toMatchObject({ status: 422, code: 'command_not_started' })
      expect(await refused({ cols: '80' })).toMatchObject({ status: 400, title: 'cols: give cols and rows together' })
      expect(await refused({ colour: 'red' })).toMatchObject({ status: 400, title: 'colour: is not a known field' })
      const terminal = await open({ command: 'echo ready; sleep 600' })
      const { execution_id: id } = await terminal.message('started')
      await terminal.reads('ready')
      expect(await refused({ execution: id, after: '999' })).toMatchObject({ status: 400, details: { printed: 7 } })
      expect(await refused({ execution: id, command: 'true' })).toMatchObject({ status: 400 })
    })

    describe('with a short grace', () => {
      beforeAll(() => restart(SHORT_GRACE_MS))
      afterAll(() => restart())

      test('who vanishes and does not come back loses the whole tree', async () => {
        const first = await open({ command: '(trap "" HUP TERM; exec sleep 612) & echo pid $!; wait' })
        const { execution_id: id } = await first.message('started')
        await first.reads(/pid \d+\r\n/)
        const pid = /pid (\d+)/.exec(first.printed())?.[1]
        first.vanish()
        await eventually(async () => (await execution(id)).status).toBe('cancelled')
        expect((await exec(`kill -0 ${pid}`)).exit_code).not.toBe(0)
        const second = await open({ execution: id })
        expect(await second.message('exit')).toMatchObject({ status: 'cancelled' })
      })

      test('who detached is not waited for', async () => {
        const first = await open({ command: 'echo ready; sleep 600' })
        const { execution_id: id } = await first.message('started')
        await first.reads('ready')
        first.order({ type: 'detach' })
        await first.closed()
        const other = await open({ command: 'sleep 600' })
        const lost = (await other.message('started')).execution_id
        other.vanish()
        // The other's grace has passed; so has this one's, had it one.
        await eventually(async () => (await execution(lost)).status).toBe('cancelled')
        expect(await execution(id)).toMatchObject({ status: 'running' })
      })

      test('two clients at one terminal see the same, and the last one to leave decides', async () => {
        const first = await open({ command: 'stty -echo; echo ready; while read line; do echo heard $line; done' })
        const { execution_id: id } = await first.message('started')
        await first.reads('ready')
        const second = await open({ execution: id })
        second.type('two\n')
        await first.reads('heard two')
        first.type('one\n')
        await second.reads('heard one')
        first.order({ type: 'detach' })
        expect(await first.closed()).toBe(1000)
        second.type('alone\n')
        await second.reads('heard alone')
        second.vanish()
        await eventually(async () => (await execution(id)).status).toBe('cancelled')
      })

      test('a program that does not read holds its client up, and neither the server nor others', async () => {
        const stuck = await open({ command: 'stty raw -echo; echo ready; sleep 600' })
        await stuck.reads('ready')
        const piece = Buffer.alloc(500_000, 'x')
        for (let sent = 0; sent < 40; sent += 1) stuck.type(piece)
        const other = await open({ command: 'PS1="$ " exec sh -i' })
        other.type('echo fine $((6*7))\n')
        await other.reads('fine 42')
        // What it sent is with it, not with the server, which has stopped reading.
        expect(stuck.socket.bufferedAmount).toBeGreaterThan(1_000_000)
        const { execution_id: id } = await stuck.message('started')
        stuck.vanish()
        await eventually(async () => (await execution(id)).status).toBe('cancelled')
      })

      test('a terminal whose client does not come back after a restart ends; one that was detached runs on', async () => {
        const [lost, left] = [await open({ command: 'sleep 600' }), await open({ command: 'sleep 600' })]
        const ids = await Promise.all([lost, left].map(async (client) => (await client.message('started')).execution_id))
        left.order({ type: 'detach' })
        await left.closed()
        const stoppedAt = Date.now()
        await restart(SHORT_GRACE_MS)
        await eventually(async () => (await execution(ids[0] ?? '')).status).toBe('cancelled')
        // Its client had the whole grace.
        expect(Date.parse((await execution(ids[0] ?? '')).ended_at)).toBeGreaterThanOrEqual(stoppedAt + SHORT_GRACE_MS)
        expect(await execution(ids[1] ?? '')).toMatchObject({ status: 'running' })
      })
    })

    test('neither what is typed nor what is run nor the key reaches the log', async () => {
      const terminal = await open({ command: 'echo top-secret-command; cat' })
      terminal.type('top-secret-input\n')
      await terminal.reads('top-secret-input')
      const log = logged.join('')
      expect(log).toContain('sandbox-started')
      expect(log).not.toContain('top-secret')
      expect(log).not.toContain(key)
    })

    test('a terminal lost with its sandbox ends for the client that comes back, wherever that was', async () => {
      const first = await open({ command: 'echo ready; sleep 600' })
      const { execution_id: id } = await first.message('started')
      await first.reads('ready\r\n')
      const { backend } = server.chosen
      await server.close()
      for (const { name } of await backend.list()) await backend.destroy(name)
      await start()
      const second = await open({ execution: id, after: String(first.seq()) })
      expect(await second.message('exit')).toMatchObject({ status: 'lost' })
      expect(second.printed()).toBe('')
    })
  })
}
