/** A process as line streams inside this server: whole lines of any size, one holder at a time, and a restart that goes on. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../../test/environment/backends.ts'
import { eventually } from '../../../../../test/servers/eventually.ts'
import { openGround } from '../../../../../test/servers/ground.ts'
import type { Ground } from '../../../../../test/servers/ground.ts'
import { personOf } from '../../../../../test/servers/person.ts'
import type { Person } from '../../../../../test/servers/person.ts'
import type { TestServer } from '../../../../../test/servers/test-server.ts'
import type { ProcessLines } from './process-lines.ts'
import type { ProcessRow } from './processes.ts'

const MIB = 1_048_576
const never = new AbortController().signal
/** What the process answers shows what arrived; the connection may end before that is confirmed. */
const onDoubt = () => undefined

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`lines of a process on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let sessionId: string

    const begin = async () => {
      server = await ground.start('one')
      alice = await personOf(server)
    }
    beforeEach(async () => {
      ground = openGround(under)
      await begin()
      sessionId = (await alice.sh('a', 'true')).session.id
    })
    afterEach(() => ground.close())

    const start = (script: string) =>
      server.sessions.processes.start(
        alice.caller,
        sessionId,
        { name: 'mcp', command: { argv: ['/bin/sh', '-c', script], interactive: true } },
        never,
      )
    const open = ({ id, name }: ProcessRow, maximumLineBytes = 16 * MIB) =>
      server.sessions.processes.openLines(alice.caller, { sessionId, name, executionId: id }, { maximumLineBytes })
    async function take(lines: ProcessLines): Promise<string> {
      const line = await lines.next()
      if (line === null) throw new Error('there are no more lines')
      lines.sent(line.length)
      lines.confirm()
      return line.toString()
    }

    test('what is printed before anybody comes is there, lines come whole however slowly, and the end is told', async () => {
      const row = await start(`echo first; printf 'sl'; sleep 1; echo ow; read -r word; echo "heard $word"; echo oh >&2; exit 5`)
      const lines = await open(row)
      expect(await take(lines)).toBe('first\n')
      expect(await take(lines)).toBe('slow\n')
      expect(await server.sessions.processes.get(alice.caller, sessionId, 'mcp')).toMatchObject({ attached: 1 })
      await lines.write([Buffer.from('hello\n')], onDoubt)
      expect(await take(lines)).toBe('heard hello\n')
      expect(await lines.next()).toBeNull()
      expect(await lines.ended).toMatchObject({ exitCode: 5 })
      expect(lines.stderr).toBe('oh\n')
      lines.close()
    })

    test('a line of five MiB is one line, and one above the maximum comes in pieces of which only the last has an end', async () => {
      const row = await start(`while read -r bytes; do head -c "$bytes" /dev/zero | tr '\\0' x; echo; done`)
      const lines = await open(row, 6 * MIB)
      await lines.write([Buffer.from(String(5 * MIB)), Buffer.from('\n')], onDoubt)
      const whole = await take(lines)
      expect(whole.length).toBe(5 * MIB + 1)
      expect(whole.endsWith('x\n')).toBe(true)
      await lines.write([Buffer.from(String(7 * MIB)), Buffer.from('\n')], onDoubt)
      const pieces = [await take(lines), await take(lines)]
      expect(pieces.map((piece) => piece.endsWith('\n'))).toEqual([false, true])
      expect(pieces.join('').length).toBe(7 * MIB + 1)
      lines.close()
    })

    test('the next one waits for its turn and gets what was not confirmed', async () => {
      const row = await start('echo one; echo two; read -r go; echo three')
      const [first, second] = [await open(row), await open(row)]
      expect(await take(first)).toBe('one\n')
      expect(String(await first.next())).toBe('two\n')
      first.close()
      expect(await take(second)).toBe('two\n')
      await second.write([Buffer.from('go\n')], onDoubt)
      expect(await take(second)).toBe('three\n')
      second.close()
    })

    test('after a restart of the server the same process goes on behind what was confirmed', async () => {
      const row = await start('i=0; while read -r word; do i=$((i+1)); echo "$i $word $$"; done')
      const before = await open(row)
      await before.write([Buffer.from('a\n')], onDoubt)
      const first = await take(before)
      await server.close()
      await expect(before.ended).rejects.toMatchObject({ code: 'server_stopping' })
      await begin()
      const after = await open(row)
      await after.write([Buffer.from('b\n')], onDoubt)
      const second = await take(after)
      expect(second).toBe(first.replace('1 a', '2 b'))
      expect(await server.sessions.processes.get(alice.caller, sessionId, 'mcp')).toMatchObject({ id: row.id, status: 'running' })
      after.close()
      await server.sessions.processes.stop(alice.caller, sessionId, 'mcp', 0)
      await eventually(async () => (await server.sessions.processes.get(alice.caller, sessionId, 'mcp')).status).toBe('cancelled')
    })
  })
}
