/** What is said when dependencies cannot be installed: where, why, and what to do; and nothing that is secret. */
import { Readable } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../sessions/caller.ts'
import type { CommandEnd } from '../../sessions/executions/executions.ts'
import { boxPlaces } from './box-places.ts'
import type { DependencyPlan } from './dependency-plan.ts'
import { installDependencies } from './install-dependencies.ts'
import type { InstallNeeds } from './install-dependencies.ts'

const CALLER: Caller = {
  actor: { type: 'user', subject: 'alice', via: null },
  visibility: { tenantId: 'default', owner: null, groups: [] },
  owner: 'alice',
  mayCreate: () => true,
  may: () => true,
}
const ENDED: CommandEnd = { status: 'completed', exitCode: 0, signal: null, durationMs: 1 }
const places = boxPlaces('demo')

interface Played extends Partial<CommandEnd> {
  readonly prints?: string
}

/** A box with one manifest, in which each command ends as it is told. */
function box(play: (argv: readonly string[]) => Played) {
  const kept = new Map([[`${places.project}/requirements.txt`, 'mcp']])
  const ran: { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> }[] = []
  const entryOf = (path: string) => ({ path, size: Buffer.byteLength(kept.get(path) ?? '') })
  // Only what is asked of them here.
  const needs = {
    files: {
      async read(_: unknown, path: string) {
        const text = kept.get(path)
        if (text === undefined) throw new HoldfastError('file_not_found', path)
        return { entry: entryOf(path), slice: null, content: Readable.from([Buffer.from(text)]) }
      },
      async write(_: unknown, path: string, content: AsyncIterable<Uint8Array>) {
        kept.set(path, Buffer.concat(await Array.fromAsync(content)).toString('utf8'))
        return entryOf(path)
      },
      makeDirectory: async (_: unknown, path: string) => entryOf(path),
    },
    commands: {
      run: async (
        _: unknown,
        __: unknown,
        { command }: { command: { argv: readonly string[]; env: Record<string, string> } },
        ___: unknown,
        attend: (started: unknown) => unknown,
      ) => {
        ran.push(command)
        const { prints = '', ...end } = play(command.argv)
        return attend({
          async finish(onChunk: (chunk: { channel: 'stdout'; bytes: Buffer }) => void) {
            const size = prints.length > 100_000 ? 60_000 : 7
            for (let at = 0; at < prints.length; at += size) onChunk({ channel: 'stdout', bytes: Buffer.from(prints.slice(at, at + size)) })
            return { ...ENDED, ...end }
          },
        })
      },
    },
  } as unknown as InstallNeeds
  return { needs, ran, kept }
}

const isPip = (argv: readonly string[]) => argv.includes('pip')
function install(play: (argv: readonly string[]) => Played, differs: Partial<DependencyPlan> = {}, box_ = box(play)) {
  const told: string[] = []
  const plan: DependencyPlan = { places, runtimes: ['python'], network: 'on', env: {}, timeoutMs: 5000, ...differs }
  const done = installDependencies(
    box_.needs,
    { caller: CALLER, sessionId: 's' },
    plan,
    (line) => void told.push(line),
    new AbortController().signal,
  )
  return { done, told, ...box_ }
}

test.each(['\n', ' ', '\t', '@', '\n#'])('a manifest of 250 KB of %j holds nothing up', async (text) => {
  const prepared = box(() => ({}))
  prepared.kept.set(`${places.project}/requirements.txt`, `#${text.repeat(250_000 / text.length)}#`)
  await expect(install(() => ({}), {}, prepared).done).resolves.toEqual({ isInstalled: true })
})

describe('dependencies that cannot be installed', () => {
  test('fail with the step, its end and the end of what it said', async () => {
    const { done, kept } = install((argv) => (isPip(argv) ? { exitCode: 1, prints: 'one\nERROR: no such thing\n\n' } : {}))
    await expect(done).rejects.toMatchObject({
      code: 'dependencies_failed',
      message:
        'the dependencies cannot be installed: pip install -r requirements.txt ended with 1 (ERROR: no such thing); see the end of its output',
      details: { phase: 'dep_install', step: 'pip install -r requirements.txt', exit_code: 1, output: 'one\nERROR: no such thing\n\n' },
    })
    expect([...kept.keys()]).toEqual([`${places.project}/requirements.txt`])
  })

  test.each([
    [
      { exitCode: 1 },
      { network: 'off' as const },
      'the network of the box is off, so only what lies in the project can be installed; set box.network to "on"',
    ],
    [{ exitCode: null, status: 'timed_out' as const }, {}, 'was timed out; it took longer than 5 seconds; raise box.startup_timeout_sec'],
    [{ exitCode: null, signal: 'SIGKILL' }, {}, 'was killed by SIGKILL'],
    [{ exitCode: null, status: 'workspace_full' as const }, {}, 'the workspace is full'],
  ])('say what to do: %j %j', async (end, differs, words) => {
    await expect(install((argv) => (isPip(argv) ? end : {}), differs).done).rejects.toMatchObject({
      message: expect.stringContaining(words),
    })
  })

  test('say it when the box has no such runtime', async () => {
    await expect(install(() => ({ exitCode: 127, prints: 'sh: python3: not found' })).done).rejects.toMatchObject({
      message: expect.stringContaining('the box has no python3; name an image that has it with box.image'),
    })
  })

  test('say it when its Python makes no environments, whatever the network', async () => {
    const play = (argv: readonly string[]) =>
      argv.join(' ').includes('-m venv') ? { exitCode: 1, prints: 'ensurepip is not available' } : {}
    await expect(install(play, { network: 'off' }).done).rejects.toMatchObject({
      message: expect.stringMatching(/python3 -m venv ended with 1 \(ensurepip is not available\); .*python3-venv.*box\.image/),
    })
  })

  test('do not tell the secrets of an index, nor move the cursor of whoever reads', async () => {
    const prints = 'Looking in \u001B[31mhttps://me:hunter2@index.test/simple\u001B[0m\u0007\n'
    const { done, told } = install((argv) => (isPip(argv) ? { exitCode: 1, prints } : {}))
    const error: unknown = await done.catch((reason: unknown) => reason)
    expect(told).toContain('installing dependencies (Python, 2 of 2): Looking in https://…@index.test/simple')
    expect(JSON.stringify([told, error instanceof HoldfastError ? [error.message, error.details] : error])).not.toMatch(
      /hunter2|u001|u0007/,
    )
  })

  test('do not tell a secret that is cut where the kept part begins, or where a line is cut', async () => {
    for (let cut = 0; cut < 24; cut += 1) {
      const address = 'https://me:hunter2@index.test'
      const prints = `${address} ${'y'.repeat(4000 - 40 + cut)} end\n${'z'.repeat(285)}${address}\n`
      const { done, told } = install((argv) => (isPip(argv) ? { exitCode: 1, prints } : {}))
      const error: unknown = await done.catch((reason: unknown) => reason)
      expect(JSON.stringify([told, error instanceof HoldfastError ? [error.message, error.details] : error])).not.toMatch(/hunt|ter2/)
    }
    for (let cut = 0; cut < 40; cut += 1) {
      const prints = `https://me:hunter2@index.test${'y'.repeat(4000 - cut)}`
      const { done } = install((argv) => (isPip(argv) ? { exitCode: 1, prints } : {}))
      const error: unknown = await done.catch((reason: unknown) => reason)
      expect(JSON.stringify(error instanceof HoldfastError ? [error.message, error.details] : error)).not.toMatch(/hunt|ter2/)
    }
  })

  test('keep a bounded part of what was printed', async () => {
    const { done, told } = install((argv) => (isPip(argv) ? { exitCode: 1, prints: `${'x'.repeat(5_000_000)}\nlast` } : {}))
    const error: unknown = await done.catch((reason: unknown) => reason)
    expect(error instanceof HoldfastError && String(error.details['output']).length).toBeLessThanOrEqual(4000)
    expect(told.join('').length).toBeLessThan(2000)
  })
})

describe('dependencies', () => {
  test('that were installed are installed again for another manifest or another runtime, and else not', async () => {
    let version = '3.11'
    const world = box((argv) => (argv.join(' ').includes('sys.version') ? { prints: version } : {}))
    const again = async () => (await install(() => ({}), {}, world).done).isInstalled
    expect([await again(), await again()]).toEqual([true, false])
    version = '3.12'
    expect([await again(), await again()]).toEqual([true, false])
    world.kept.set(`${places.project}/requirements.txt`, 'mcp>=2')
    expect([await again(), await again()]).toEqual([true, false])
  })

  test('from the project itself are installed again when its copy changed', async () => {
    const world = box(() => ({}))
    world.kept.set(`${places.project}/requirements.txt`, 'mcp\n./vendor/greeting\n')
    world.kept.set(places.projectNote, 'one')
    const again = async () => (await install(() => ({}), {}, world).done).isInstalled
    expect([await again(), await again()]).toEqual([true, false])
    world.kept.set(places.projectNote, 'two')
    expect([await again(), await again()]).toEqual([true, false])
  })

  test('are fetched with the variables of the box, and without a network only from the project', async () => {
    const { done, ran } = install(() => ({}), { network: 'off', env: { PIP_INDEX_URL: 'https://index.test' } })
    await done
    expect(ran.at(-1)?.env).toMatchObject({ PIP_INDEX_URL: 'https://index.test', PIP_NO_INDEX: '1', TMPDIR: places.tmp })
  })
})
