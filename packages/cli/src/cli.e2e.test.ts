/** The command line as a person uses it: its own process, real sandboxes, exact bytes and exit codes. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../test/environment/backends.ts'
import { PROGRAM } from '../../../test/environment/holdfast-program.ts'

const OF_THE_PACKAGE = join(import.meta.dirname, '../bin/holdfast.mjs')
const subjects = await backendsAbovePort()

for (const subject of subjects) {
  let home: string
  const children: ChildProcess[] = []
  const environment = {
    ...process.env,
    HOLDFAST_HOME: '',
    HOLDFAST_BACKEND: subject.kind,
    HOLDFAST_DOCKER_HOST: subject.settings.dockerSocket,
    HOLDFAST_IMAGE: subject.settings.image,
  }
  const settings = () => ({ ...environment, HOLDFAST_HOME: home })
  const holdfast = (args: readonly string[], input = '') =>
    spawnSync(process.execPath, [PROGRAM, ...args], { env: settings(), input, timeout: 600_000 })
  const run = (...args: readonly string[]) => holdfast(['sandbox', 'run', ...args])
  /** Its command has begun. */
  async function runningInSandbox() {
    const child = spawn(process.execPath, [PROGRAM, 'sandbox', 'run', '--', 'sh', '-c', 'echo ready; sleep 60'], {
      env: settings(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
    const ended = once(child, 'close').then(([code]) => Promise.reject(new Error(`it ended with ${code}: ${complaint}`)))
    await Promise.race([once(child.stdout, 'data'), ended])
    ended.catch(() => undefined)
    return child
  }
  const runsLeft = () => readdirSync(join(home, 'cli', 'runs'))

  describe.skipIf(subject.skipReason !== null)(`holdfast sandbox run on ${subject.kind}${because(subject)}`, () => {
    beforeAll(() => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
    })
    afterEach(() => {
      for (const child of children.splice(0)) child.kill('SIGKILL')
    })
    afterAll(() => rmSync(home, { recursive: true, force: true }))

    test('passes both streams byte for byte, and the exit code', () => {
      const { status, stdout, stderr } = run('--', 'sh', '-c', 'printf "a\\377b"; printf "c\\200" >&2; exit 7')
      expect([status, stdout.toString('latin1'), stderr.toString('latin1')]).toEqual([7, 'a\xFFb', 'c\x80'])
      expect(runsLeft()).toEqual([])
    })

    test('many runs at the same moment do not disturb each other', async () => {
      const runs = Array.from({ length: 8 }, () =>
        spawn(process.execPath, [PROGRAM, 'sandbox', 'run', '--', 'true'], { env: settings(), stdio: 'inherit' }),
      )
      expect(await Promise.all(runs.map(async (child) => (await once(child, 'close'))[0]))).toEqual(runs.map(() => 0))
      expect(runsLeft()).toEqual([])
    })

    test('passes stdin to its end', () => {
      const input = 'line\n'.repeat(100_000)
      const { status, stdout } = holdfast(['sandbox', 'run', '--', 'cat'], input)
      expect(status).toBe(0)
      expect(stdout.equals(Buffer.from(input))).toBe(true)
    })

    test.each([
      [['--', 'sh', '-c', 'kill -9 $$'], 137],
      [['--timeout', '0.2', '--', 'sleep', '60'], 124],
      [['--', 'no-such-program'], 127],
      [['--', '/tmp'], 126],
    ])('%j ends with %d', (args, status) => {
      expect(run(...args).status).toBe(status)
      expect(runsLeft()).toEqual([])
    })

    test('shows a mount read-only unless it says :rw', () => {
      const shared = mkdtempSync(join(tmpdir(), 'holdfast-mount-'))
      try {
        expect(run('--mount', `${shared}:/workspace`, '--', 'touch', 'x').status).not.toBe(0)
        expect(readdirSync(shared)).toEqual([])
      } finally {
        rmSync(shared, { recursive: true, force: true })
      }
    })

    test.each([
      [['--memory', '1', '--', 'true'], /--memory "1" must be at least 16777216 bytes \(16 MiB\)/],
      [['--backend', 'host', '--', 'true'], /there is no backend "host"/],
      [['--mount', '/etc:/workspace', '--', 'true'], /\/etc/],
      [['--mount', 'here:/workspace', '--', 'true'], /the source must be an absolute path/],
      [['--workdir', 'here', '--', 'true'], /here/],
      [['--image', '127.0.0.1:1/no/such', '--', 'true'], /image/],
      [['--network', 'maybe', '--', 'true'], /--network "maybe" must be "off" or "on"/],
      [['--cpus', '0', '--', 'true'], /--cpus "0" must be at least 0\.01/],
      [['--colour', '--', 'true'], /unknown option '--colour'/],
      [[], /missing required argument/],
    ])('%j is refused with one sentence and 125, and leaves nothing', (args, sentence) => {
      const { status, stdout, stderr } = run(...args)
      expect(status).toBe(125)
      expect(stdout.toString()).toBe('')
      expect(stderr.toString()).toMatch(sentence)
      expect(stderr.toString().match(/^holdfast: /gm)).toHaveLength(1)
      expect(runsLeft()).toEqual([])
    })

    test('Ctrl-C reaches the command and the sandbox is removed', async () => {
      const child = await runningInSandbox()
      child.kill('SIGINT')
      expect(await once(child, 'exit')).toEqual([130, null])
      expect(runsLeft()).toEqual([])
    })

    test('what a run killed with -9 left behind is removed by the next one', async () => {
      const child = await runningInSandbox()
      child.kill('SIGKILL')
      await once(child, 'exit')
      expect(runsLeft()).toHaveLength(1)
      expect(run('--', 'true').status).toBe(0)
      expect(runsLeft()).toEqual([])
    })
  })
}

test('the command of the package is the same program, from its sources', () => {
  const [own, bundled] = [OF_THE_PACKAGE, PROGRAM].map((program) => spawnSync(process.execPath, [program, '--help'], { encoding: 'utf8' }))
  expect(own).toMatchObject({ status: 0, stderr: '' })
  expect(own?.stdout).toBe(bundled?.stdout)
})
