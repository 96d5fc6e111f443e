/** Output after the fact: from any cursor, by any number of readers, over restarts, without a wrong byte. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectedBytes, printingScript } from '../../../../test/chaos/numbered-lines.ts'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import type { OutputLog, OutputPage } from './executions/output-log.ts'

const LINES = 400_000
/** Nine bytes a line, 3.6 MB. */
const MUCH = `seq -f '%08.0f' 0 ${LINES - 1}`
const MUCH_BYTES = LINES * 9
const KEPT_BYTES = 1024 * 1024

for (const under of (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')) {
  describe.skipIf(under.skipReason !== null)(`output on ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person

    const restart = async () => {
      await server.close()
      server = await ground.start()
      alice = await personOf(server)
    }
    beforeEach(async () => {
      ground = openGround(under)
      server = await ground.start()
      alice = await personOf(server)
    })
    afterEach(() => ground.close())

    const output = (id: string, executionId: string) => server.sessions.commands.output(alice.caller, id, executionId)
    const log = async (id: string, executionId: string): Promise<OutputLog> => {
      const found = await output(id, executionId)
      if (!('follow' in found)) throw new Error('it does not run any more')
      return found
    }
    /** Every byte of a page of numbered lines is what must stand at its place. */
    const expectNumbered = ({ chunks, skippedBytes, seq }: OutputPage, after: number): number => {
      const keptBytes = chunks.reduce((total, { bytes }) => total + bytes.length, 0)
      expect(after + skippedBytes + keptBytes).toBe(seq)
      for (const { bytes, seq: end } of chunks) {
        const isRight = bytes.toString('latin1') === expectedBytes(end - bytes.length, bytes.length)
        expect(isRight, `the bytes before ${end}`).toBe(true)
      }
      return keptBytes
    }
    const followed = async (from: OutputLog, after: number, isEnough: (seq: number) => boolean = () => false) => {
      let cursor = after
      let skippedBytes = 0
      for await (const page of from.follow(after)) {
        expectNumbered(page, cursor)
        cursor = page.seq
        skippedBytes += page.skippedBytes
        if (isEnough(cursor)) break
      }
      return { cursor, skippedBytes }
    }

    test('what ended is read from any cursor, before and after a restart', async () => {
      const small = await alice.sh('a', 'echo out; sleep 0.2; echo err >&2')
      const { id } = small.session
      const large = await alice.sh('a', 'seq -f %08.0f 0 9999')
      for (const life of ['first', 'second']) {
        if (life === 'second') await restart()
        for (const after of [0, 1, 4, 5, 8]) expect(await alice.printed(id, small.executionId, after)).toBe('out\nerr\n'.slice(after))
        const page = await (await output(id, small.executionId)).read(0)
        expect(page.chunks.map(({ channel }) => channel)).toEqual(['stdout', 'stderr'])
        for (const after of [0, 1, 50_000, 89_999, 90_000]) {
          const whole = await (await output(id, large.executionId)).read(after)
          expect([expectNumbered(whole, after), whole.skippedBytes, whole.seq]).toEqual([90_000 - after, 0, 90_000])
        }
        // Page by page.
        let cursor = 0
        const stored = await output(id, large.executionId)
        while (cursor < stored.seq) {
          const part = await stored.read(cursor, 7000)
          expect(expectNumbered(part, cursor)).toBeGreaterThan(0)
          cursor = part.seq
        }
        expect(await server.sessions.commands.get(alice.caller, id, large.executionId)).toMatchObject({
          status: 'completed',
          outputSeq: 90_000,
        })
      }
    })

    test('of much output the last part is kept, and what was skipped is told', async () => {
      const { session, executionId } = await alice.start('a', MUCH)
      await alice.ended(session.id, executionId)
      for (const life of ['first', 'second']) {
        if (life === 'second') await restart()
        const page = await (await output(session.id, executionId)).read(0)
        const keptBytes = expectNumbered(page, 0)
        expect(page.seq).toBe(MUCH_BYTES)
        expect(keptBytes).toBeGreaterThanOrEqual(KEPT_BYTES)
        expect(page.skippedBytes).toBe(MUCH_BYTES - keptBytes)
        const tail = await (await output(session.id, executionId)).read(MUCH_BYTES - 5000)
        expect([expectNumbered(tail, MUCH_BYTES - 5000), tail.skippedBytes]).toEqual([5000, 0])
      }
    })

    test('several followers, early, late and from the middle, each get every byte to the end', async () => {
      const { session, executionId } = await alice.start('a', `until [ -e go ]; do sleep 0.02; done; seq -f %08.0f 0 49999; exit 5`)
      const running = await log(session.id, executionId)
      const early = [followed(running, 0), followed(running, 0)]
      const late = running.follow(0)[Symbol.asyncIterator]()
      await alice.sh('a', 'touch go')
      const first = await late.next()
      expect(first.done).toBe(false)
      expect((await alice.ended(session.id, executionId)).exitCode).toBe(5)
      for (const reader of early) expect(await reader).toEqual({ cursor: 450_000, skippedBytes: 0 })
      expect(await followed(running, 123_456)).toEqual({ cursor: 450_000, skippedBytes: 0 })
      await late.return?.(undefined)
    })

    test('a follower that does not read holds nobody up', async () => {
      const { session, executionId } = await alice.start('a', `until [ -e go ]; do sleep 0.02; done; ${MUCH}`)
      const running = await log(session.id, executionId)
      const idle = running.follow(0)[Symbol.asyncIterator]()
      await alice.sh('a', 'touch go')
      const first = await idle.next()
      const cursor = first.done === true ? 0 : first.value.seq
      expect(await alice.ended(session.id, executionId)).toMatchObject({ status: 'completed', outputSeq: MUCH_BYTES })
      await idle.return?.(undefined)
      const { cursor: end } = await followed(running, cursor)
      expect(end).toBe(MUCH_BYTES)
    })

    test('a command that is running when the server stops runs on, and its output goes on without a wrong byte', async () => {
      const { session, executionId } = await alice.start('a', printingScript('slow'))
      await followed(await log(session.id, executionId), 0, (seq) => seq > 90)
      for (let life = 0; life < 2; life += 1) {
        await restart()
        expect(server.plane.recovered).toMatchObject({ sessions: 1, reattached: 1, lost: 0 })
        const running = await log(session.id, executionId)
        const from = running.seq
        const whole = await running.read(0)
        expect([expectNumbered(whole, 0), whole.skippedBytes]).toEqual([whole.seq, 0])
        await followed(running, 0, (seq) => seq > from + 90)
      }
      expect(await server.sessions.commands.cancel(alice.caller, session.id, executionId)).toMatchObject({ verified: true })
      expect(await server.sessions.commands.get(alice.caller, session.id, executionId)).toMatchObject({
        status: 'cancelled',
        incarnation: 1,
      })
      const kept = await (await output(session.id, executionId)).read(0)
      expect([expectNumbered(kept, 0), kept.skippedBytes]).toEqual([kept.seq, 0])
    })

    test('a command that prints more than can be kept while the server is away tells the gap, and no byte is wrong', async () => {
      const block = 'seq -f %08.0f $((i * 100000)) $((i * 100000 + 99999))'
      const { session, executionId } = await alice.start('a', `i=0; while :; do ${block}; i=$((i + 1)); echo $i > blocks; sleep 0.05; done`)
      const progress = join(server.home.workspacesDir, session.id, 'files', 'blocks')
      const blocks = () => Number(existsSync(progress) ? readFileSync(progress, 'utf8') : 0)
      await followed(await log(session.id, executionId), 0, (seq) => seq > 90_000)
      await server.close()
      const atClose = blocks()
      // Three times what can be kept.
      await eventually(() => blocks() > atClose + 4).toBe(true)
      server = await ground.start()
      alice = await personOf(server)
      const running = await log(session.id, executionId)
      const seen = await followed(running, 90_000, (seq) => seq > (atClose + 6) * 900_000)
      expect(seen.skippedBytes).toBeGreaterThan(KEPT_BYTES)
      await server.sessions.commands.cancel(alice.caller, session.id, executionId)
      const kept = await (await output(session.id, executionId)).read(0)
      expect(expectNumbered(kept, 0)).toBeGreaterThan(KEPT_BYTES / 2)
    })

    test('a command that ends while the server is away has its true end and its whole output', async () => {
      const { session, executionId } = await alice.start('a', `until [ -e go ]; do sleep 0.02; done; seq -f %08.0f 0 9999; exit 7`)
      await alice.start('a', 'sleep 0.5; touch go')
      await server.close()
      await eventually(() => ground.processes().filter(({ command }) => command.includes('until'))).toEqual([])
      server = await ground.start()
      alice = await personOf(server)
      expect(await alice.ended(session.id, executionId)).toMatchObject({ status: 'completed', exitCode: 7, outputSeq: 90_000 })
      const page = await (await output(session.id, executionId)).read(0)
      expect([expectNumbered(page, 0), page.skippedBytes]).toEqual([90_000, 0])
    })

    const LOSSES = ['while the server runs', 'while the server is away'].flatMap((when) =>
      [100, 1000].map((lines) => [when, lines] as const),
    )
    test.each(LOSSES)('what a command printed before its sandbox was lost %s is still there, %i lines', async (when, lines) => {
      const { session, executionId } = await alice.start('a', `seq -f %08.0f 0 ${lines - 1}; echo begun >&2; exec sleep 600`)
      await followedUntil(await log(session.id, executionId), lines * 9 + 6)
      const [name = ''] = await server.sandboxes()
      const { backend } = server
      if (when === 'while the server is away') {
        // Output that is little is written down a moment later.
        await eventually(() => readdirSync(server.home.outputDir)).not.toEqual([])
        await server.close()
      }
      await backend.destroy(name)
      if (when === 'while the server is away') {
        server = await ground.start()
        alice = await personOf(server)
      }
      const status = async () => (await server.sessions.commands.get(alice.caller, session.id, executionId)).status
      await eventually(status).toBe('lost')
      await eventually(() => alice.printed(session.id, executionId)).toHaveLength(lines * 9 + 6)
      expect((await alice.printed(session.id, executionId)) === `${expectedBytes(0, lines * 9)}begun\n`).toBe(true)
      expect(await server.sessions.commands.get(alice.caller, session.id, executionId)).toMatchObject({
        exitCode: null,
        outputSeq: lines * 9 + 6,
      })
    })

    async function followedUntil(from: OutputLog, wanted: number): Promise<void> {
      for await (const { seq } of from.follow(0)) if (seq >= wanted) return
    }
  })
}
