/** `holdfast box -s`: the whole server for a client on its pipes, over quickly when the client leaves; what it made stays. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stdioLines, stdioReader } from '@holdfast/protocol/box'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { PROGRAM } from '../../../test/environment/holdfast-program.ts'
import { PATIENCE_MS } from './contract/on-bubblewrap.ts'

/** A stop waits up to 10 s for commands; one that a client left does not. LangBot waits 2 s, which a busy machine may need for any exit. */
const DRAIN_MS = 10_000
const CONTEXT = { instance_uuid: 'inst-1', workspace_uuid: 'ws-A', placement_generation: 1 }
const subjects = (await backendsUnderTest()).filter(({ kind }) => kind === 'bubblewrap')
let home = ''

function startBox(args: readonly string[] = ['--ws-control-port', '0'], settings: NodeJS.ProcessEnv = {}, cwd = process.cwd()) {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(HOLDFAST_|LANGBOT_|npm_)/.test(name)))
  const child = spawn(process.execPath, [PROGRAM, 'box', '-s', ...args], {
    env: { ...inherited, HOLDFAST_HOME: home, HOLDFAST_BACKEND: 'bubblewrap', LANGBOT_BOX_TRUSTED_INSTANCE_UUID: 'inst-1', ...settings },
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd,
  })
  const waiting = new Map<unknown, (frame: Record<string, unknown>) => void>()
  const reader = stdioReader()
  const printed: Buffer[] = []
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.stdout.on('data', (bytes: Buffer) => {
    printed.push(bytes)
    for (const message of reader.push(bytes)) {
      const frame = JSON.parse(message) as Record<string, unknown>
      waiting.get(frame['seq_id'])?.(frame)
    }
  })
  const exited = once(child, 'exit').then(([code]: unknown[]) => code)
  let sequence = 0
  return {
    child,
    exited,
    said: () => said,
    lines: () => Buffer.concat(printed).toString().trimEnd().split('\n'),
    async ask(action: string, data: object = {}): Promise<Record<string, unknown>> {
      const id = (sequence += 1)
      const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>()
      waiting.set(id, resolve)
      for (const line of stdioLines(JSON.stringify({ seq_id: id, action, data, context: CONTEXT }))) child.stdin.write(line)
      return Promise.race([promise, exited.then((code) => Promise.reject(new Error(`the server ended with ${String(code)}: ${said}`)))])
    },
    /** How long it took to end. */
    async end(act: () => unknown): Promise<{ readonly code: unknown; readonly isInTime: boolean }> {
      const since = performance.now()
      act()
      const code = await exited
      return { code, isInTime: performance.now() - since < DRAIN_MS }
    },
  }
}
type Box = ReturnType<typeof startBox>

for (const subject of subjects) {
  describe.skipIf(subject.skipReason !== null)(`holdfast box -s on bubblewrap${because(subject)}`, { timeout: PATIENCE_MS }, () => {
    const started: Box[] = []
    const start = (...given: Parameters<typeof startBox>) => {
      const box = startBox(...given)
      started.push(box)
      return box
    }
    beforeAll(() => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-box-cli-'))
    })
    afterEach(async () => {
      for (const { child, exited } of started.splice(0)) {
        child.kill('SIGKILL')
        await exited
      }
    })
    afterAll(async () => {
      const box = startBox()
      await box.ask('box_shutdown')
      await box.end(() => box.child.stdin.end())
      rmSync(home, { recursive: true, force: true })
    })
    const exec = async (box: Box, cmd: string) => (await box.ask('box_exec', { session_id: 's1', cmd }))['data']

    test('speaks the protocol on stdout and nothing else, and long answers whole', async () => {
      const box = start()
      expect(await box.ask('__ping')).toEqual({ seq_id: 1, code: 0, message: 'success', data: {}, chunk_status: 'continue' })
      expect(await exec(box, 'yes 漢 | head -c 900000 | tr -d "\\n"')).toMatchObject({
        exit_code: 0,
        stdout: expect.stringMatching(/^漢{225000}$/u) as string,
      })
      expect(box.lines().filter((line) => !line.startsWith('{') || Buffer.byteLength(line) >= 65_535)).toEqual([])
      expect(box.said()).toContain('speaking to a Box client')
    })

    test('is over soon after its client left, though a command runs; the session and its process stay', async () => {
      const box = start()
      expect(await exec(box, 'echo kept > note')).toMatchObject({ exit_code: 0 })
      const spec = { process_id: 'p1', command: 'sleep', args: ['43210'] }
      expect(await box.ask('box_start_managed_process', { session_id: 's1', spec })).toMatchObject({ code: 0 })
      const dropped = exec(box, 'touch began; exec sleep 600').catch(() => null)
      await expect.poll(async () => exec(box, 'ls')).toMatchObject({ stdout: expect.stringContaining('began') as string })
      expect(await box.end(() => box.child.stdin.end())).toEqual({ code: 0, isInTime: true })
      await dropped

      const again = start()
      expect(await again.ask('box_get_managed_process', { session_id: 's1', process_id: 'p1' })).toMatchObject({
        data: { status: 'running' },
      })
      const running = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done 2>/dev/null | grep "^sleep"; cat note'
      expect(await exec(again, running)).toMatchObject({ stdout: 'sleep 43210 \nkept' })
      expect(await again.end(() => again.child.kill('SIGTERM'))).toEqual({ code: 0, isInTime: true })
    })

    test('works in the directories of the LangBot that started it, as its settings name them', async () => {
      const place = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-box-data-')))
      chmodSync(place, 0o755)
      const section = { local: { host_root: './data/box', default_workspace: '', allowed_mount_roots: ['./data/box', '/tmp'] } }
      const box = start(['--ws-control-port', '0'], { LANGBOT_BOX_CONFIG: JSON.stringify(section) }, place)
      const path = join(place, 'data/box/work')
      const made = { session_id: 'shared', cmd: 'echo made > note', host_path: path }
      expect(await box.ask('box_exec', made)).toMatchObject({ code: 0, message: 'success', data: { exit_code: 0 } })
      expect(readFileSync(join(path, 'note'), 'utf8')).toBe('made\n')
      await box.ask('box_delete_session', { session_id: 'shared' })
      rmSync(place, { recursive: true, force: true })
    })

    test('starts while an earlier one still leaves', async () => {
      const first = start()
      await first.ask('__ping')
      first.child.stdin.end()
      expect(await start().ask('__ping')).toMatchObject({ code: 0 })
    })

    test('does its work where the port is taken, and says so', async () => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
      const { port } = other.address() as AddressInfo
      const box = start(['--ws-control-port', `${port}`])
      expect(await box.ask('__ping')).toMatchObject({ code: 0 })
      expect(box.said()).toContain('listen-failed')
      other.close()
    })

    test('cuts off a client that breaks the framing, and is over', async () => {
      const box = start()
      await box.ask('__ping')
      expect(await box.end(() => box.child.stdin.write('x'.repeat(70_000)))).toEqual({ code: 0, isInTime: true })
    })

    test('does not start with a token and no instance', async () => {
      const box = start(['--ws-control-port', '0'], { LANGBOT_BOX_CONTROL_TOKEN: 't'.repeat(32), LANGBOT_BOX_TRUSTED_INSTANCE_UUID: '' })
      expect(await box.exited).not.toBe(0)
      expect(box.said()).toContain('box.instance must be set')
    })
  })
}
