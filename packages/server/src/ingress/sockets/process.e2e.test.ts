/** Processes over real sockets and real sandboxes: read and written by several, left, come back to, lost, started again. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult, ProcessDetails } from '@holdfast/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { startServer } from '../../app.ts'
import type { RunningServer } from '../../app.ts'
import { loadConfig } from '../../config.ts'
import { jsonLog } from '../../telemetry/log.ts'
import { openProcess } from './contract/process-client.ts'
import type { ProcessClient } from './contract/process-client.ts'
import { refusalOf } from './contract/terminal-client.ts'

const MIB = 1_048_576
/** A line of that many bytes with its end, for each line that is read. */
const longLines = (bytes: number) => `while read -r letter; do head -c ${bytes - 1} /dev/zero | tr '\\0' "$letter"; echo; done`

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`attached processes on ${under.kind}${because(under)}`, () => {
    let home: string
    let server: RunningServer
    let key: string
    let session: string
    const clients: ProcessClient[] = []
    const logged: string[] = []

    const begin = async () => {
      const { dockerSocket, image } = under.settings
      const environment = {
        ...{ HOLDFAST_HOME: home, HOLDFAST_PORT: '0', HOLDFAST_BACKEND: under.kind },
        ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: dockerSocket }),
        ...(image === undefined ? {} : { HOLDFAST_IMAGE: image }),
      }
      server = await startServer(
        loadConfig({}, environment),
        jsonLog('debug', (line) => logged.push(line)),
      )
      key = readFileSync(join(home, 'admin.key'), 'utf8').trim()
    }
    const request = async (path: string, method = 'GET', body?: object) =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const exec = async (command: string) => ExecResult.parse(await (await request('/v1/exec', 'POST', { session: 'a', command })).json())
    const start = async (name: string, command: string, more: object = {}) => {
      const answer = await request(`/v1/sessions/${session}/processes`, 'POST', { name, command, interactive: true, ...more })
      expect(answer.status).toBe(201)
      return ProcessDetails.parse(await answer.json())
    }
    const look = async (name: string) => ProcessDetails.parse(await (await request(`/v1/sessions/${session}/processes/${name}`)).json())
    const stop = (name: string) => request(`/v1/sessions/${session}/processes/${name}?grace_ms=0`, 'DELETE')
    const address = (name: string, query: Record<string, string> = {}) =>
      `${server.url}/v1/sessions/${session}/processes/${name}/attach?${new URLSearchParams(query).toString()}`
    const attach = async (name: string, query: Record<string, string> = {}) => {
      const client = await openProcess(address(name, query), key)
      clients.push(client)
      return client
    }

    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-attach-'))
      await begin()
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

    test('by lines one message is one line each way, and the exit ends it', async () => {
      const { execution_id: id } = await start('talker', 'echo ready; while read -r line; do echo "heard $line"; done; exit 3')
      const client = await attach('talker')
      expect(await client.message('started')).toMatchObject({ execution_id: id, session: { id: session, key: 'a' }, seq: 0 })
      client.write('one')
      client.write('two\n')
      await client.reads('heard two\n')
      expect(client.frames.map(String)).toEqual(['ready\n', 'heard one\n', 'heard two\n'])
      expect(await look('talker')).toMatchObject({ attached: 1, status: 'running' })
      client.order({ type: 'end' })
      expect(await client.message('exit')).toMatchObject({ exit_code: 3, signal: null, status: 'completed' })
      expect(await client.closed()).toBe(1000)
      await eventually(async () => (await look('talker')).attached).toBe(0)
    })

    test('raw bytes come and go as they are', async () => {
      await start('echo', 'cat')
      const client = await attach('echo', { mode: 'raw' })
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256))
      client.write(bytes.subarray(0, 40_001))
      client.write(bytes.subarray(40_001))
      await client.until(() => client.bytes().length >= bytes.length || undefined)
      expect(client.bytes().equals(bytes)).toBe(true)
      expect(client.place()).toBe(bytes.length)
    })

    test('lines of a MiB are whole, longer ones come in pieces, and nothing of them is lost', async () => {
      await start('long', longLines(MIB))
      const client = await attach('long')
      for (const [index, letter] of ['a', 'b', 'c'].entries()) {
        client.write(letter)
        await client.until(() => client.frames.length > index || undefined)
        expect(client.frames[index]?.length).toBe(MIB)
        expect(client.frames[index]?.equals(Buffer.from(`${letter.repeat(MIB - 1)}\n`))).toBe(true)
      }
      await stop('long')
      await start('longer', longLines(MIB + 10))
      const other = await attach('longer')
      other.write('x')
      await other.until(() => other.bytes().length >= MIB + 10 || undefined)
      expect(other.frames).toHaveLength(2)
      expect(other.frames.every(({ length }) => length <= MIB)).toBe(true)
      expect(other.bytes().equals(Buffer.from(`${'x'.repeat(MIB + 9)}\n`))).toBe(true)
    })

    test('a line of a MiB reaches the process whole, and a larger message is refused', async () => {
      await start('count', 'while read -r line; do echo "${#line}"; done')
      const client = await attach('count')
      client.write('x'.repeat(MIB))
      await client.reads(`${MIB}\n`)
      client.write('x'.repeat(MIB + 1))
      expect(await client.closed()).toBe(1009)
      expect(await look('count')).toMatchObject({ status: 'running' })
    })

    test('whoever comes back gets the rest byte for byte, also where stderr lies in between, and also after the end', async () => {
      const script = 'i=0; while [ $i -lt 3000 ]; do echo "line $i"; [ $((i % 7)) = 0 ] && echo "note $i" >&2; i=$((i+1)); done; read -r go'
      const wanted = Array.from({ length: 3000 }, (_, number) => `line ${number}\n`).join('')
      for (const mode of ['line', 'raw']) {
        const { execution_id: execution } = await start(`counter-${mode}`, script)
        const pieces: Buffer[] = []
        let after = 0
        for (let visit = 1; ; visit += 1) {
          const client = await attach(`counter-${mode}`, { mode, after: String(after), execution })
          expect(await client.message('started')).toMatchObject({ execution_id: execution, seq: after })
          await client.until(() => client.frames.length >= visit * 40 || client.bytes().includes('line 2999\n') || undefined)
          // What came by now is what counts: whatever was on its way is asked for again.
          client.socket.pause()
          pieces.push(client.bytes())
          after = client.place()
          client.vanish()
          if (client.bytes().includes('line 2999\n')) break
        }
        expect(Buffer.concat(pieces).toString() === wanted).toBe(true)
        await stop(`counter-${mode}`)
        const again = await attach(`counter-${mode}`, { mode, execution })
        await again.message('exit')
        expect(again.bytes().toString() === wanted).toBe(true)
        expect(again.messages.some(({ type }) => type === 'gap')).toBe(false)
      }
    })

    test('several read the same and write in turns, each message whole', async () => {
      await start('shared', 'while read -r line; do echo "$line"; done')
      const readers = await Promise.all(Array.from({ length: 12 }, () => attach('shared')))
      const words = readers.map((_reader, index) => `${index}:${'x'.repeat(20_000)}`)
      for (let round = 0; round < 3; round += 1) for (const [index, reader] of readers.entries()) reader.write(words[index] ?? '')
      for (const reader of readers) await reader.until(() => reader.frames.length >= 36 || undefined)
      for (const reader of readers) {
        const heard = reader.frames.map(String)
        expect(heard.toSorted()).toEqual([...words, ...words, ...words].map((word) => `${word}\n`).toSorted())
        expect(reader.bytes().equals(readers[0]?.bytes() ?? Buffer.alloc(0))).toBe(true)
      }
      expect(await look('shared')).toMatchObject({ attached: 12 })
    })

    test('a reader that does not read costs the others nothing, and is told what it missed', async () => {
      const { execution_id: execution } = await start(
        'loud',
        'read -r go; head -c 40000000 /dev/zero | tr "\\0" x; echo; echo done; read -r go',
      )
      const slow = await attach('loud', { mode: 'raw' })
      await slow.message('started')
      slow.socket.pause()
      const quick = await attach('loud', { mode: 'raw' })
      quick.write('go\n')
      // It prints on, though one of its readers does not take anything.
      await quick.reads('done\n')
      const { output_seq: printed } = await look('loud')
      expect(printed).toBe(40_000_006)
      slow.socket.resume()
      await slow.reads('done\n')
      const { skipped_bytes: skipped } = await slow.message('gap')
      expect(skipped).toBeGreaterThan(0)
      expect(slow.place()).toBe(printed)
      expect(execution).toBe((await slow.message('started')).execution_id)
    })

    test('several processes run at once, and a stop takes the whole tree of one', async () => {
      const names = ['one', 'two', 'three']
      for (const name of names)
        await start(name, `(trap '' HUP TERM; echo $$; exec setsid sleep 600) & echo "tree of ${name} $!"; read -r go`)
      const at = await Promise.all(names.map((name) => attach(name)))
      const pids = await Promise.all(
        at.map((client, index) =>
          client.until(() => new RegExp(`tree of ${names[index]} (\\d+)`).exec(client.bytes().toString())?.[1] ?? undefined),
        ),
      )
      await stop('two')
      expect(await at[1]?.message('exit')).toMatchObject({ status: 'cancelled' })
      const alive = await Promise.all(pids.map(async (pid) => (await exec(`kill -0 ${pid}`)).exit_code === 0))
      expect(alive).toEqual([true, false, true])
      expect(await look('one')).toMatchObject({ status: 'running' })
    })

    test('what it complained of is told with whole characters, the last 4 KiB of it', async () => {
      await start('angry', `i=0; while [ $i -lt 2000 ]; do printf 'wörter ' >&2; i=$((i+1)); done; echo over; exit 9`)
      await eventually(async () => (await look('angry')).status).toBe('completed')
      const { stderr_tail: tail, exit_code: code } = await look('angry')
      expect(code).toBe(9)
      expect(Buffer.byteLength(tail ?? '')).toBeLessThanOrEqual(4096)
      expect(Buffer.byteLength(tail ?? '')).toBeGreaterThan(4090)
      expect('wörter '.repeat(2000).endsWith(tail ?? 'none')).toBe(true)
    })

    test('a signal reaches it, and who wants what cannot be is refused before there is a socket', async () => {
      await start('trapped', `trap 'echo caught' USR1; echo ready; while :; do read -r line || true; done`)
      const client = await attach('trapped')
      await client.reads('ready\n')
      client.order({ type: 'signal', signal: 'SIGUSR1' })
      await client.reads('caught\n')
      const refused = async (name: string, query: Record<string, string>) => {
        const { status, body } = await refusalOf(address(name, query), { key, protocols: ['holdfast.process.v1'] })
        return `${status} ${String(body['code'])}`
      }
      expect(await refused('nobody', {})).toBe('404 not_found')
      expect(await refused('trapped', { mode: 'words' })).toBe('400 invalid_request')
      expect(await refused('trapped', { after: '999999999' })).toBe('400 invalid_request')
      expect(await refused('trapped', { execution: 'exe_0000000000000000' })).toBe('404 not_found')
      const { execution_id: other } = await exec('true')
      expect(await refused('trapped', { execution: other })).toBe('404 not_found')
    })

    test('one that takes no input can be watched; whoever writes is told', async () => {
      await start('deaf', 'echo there; exec sleep 600', { interactive: false })
      const client = await attach('deaf')
      await client.reads('there\n')
      client.write('hello')
      expect(await client.message('error')).toMatchObject({ problem: { code: 'not_interactive' } })
      expect(await client.closed()).toBe(1011)
    })

    test('a server that stops leaves it running, and the next one goes on with it byte for byte', async () => {
      const { execution_id: execution } = await start('lasting', 'i=0; while read -r line; do i=$((i+1)); echo "$i $line $$"; done')
      const before = await attach('lasting')
      before.write('first')
      await before.reads('1 first')
      const seen = createHash('sha256').update(before.bytes()).digest('hex')
      await server.close()
      expect(await before.closed()).toBe(1001)
      await begin()
      const after = await attach('lasting', { execution, after: String(before.place()) })
      after.write('second')
      await after.reads('2 second')
      const pid = before.bytes().toString().trim().split(' ').at(-1)
      expect(after.bytes().toString()).toBe(`2 second ${pid}\n`)
      const whole = await attach('lasting', { execution })
      await whole.reads('2 second')
      expect(createHash('sha256').update(whole.bytes().subarray(0, before.bytes().length)).digest('hex')).toBe(seen)
    })
  })
}
