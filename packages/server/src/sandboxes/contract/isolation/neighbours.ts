/**
 * Isolation, neighbours: two sessions in one packed sandbox, and nothing of the one is the other's to see, touch or become.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { basename, dirname } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import { lineFrom, outcomeOf, run } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { memoryContains, processesOf, processesOfUser, textOf } from '../traces.ts'
import { ATTACK, holdsAs } from './attack-program.ts'
import type { Ground } from './ground.ts'
import { needing } from './ground.ts'
import type { PackedSandbox, Victim } from './packed-ground.ts'
import { as, PIDS_PER_UID, shellAs, startVictim, withPacked } from './packed-ground.ts'

const WAYS = [
  'ptrace', 'seize', 'vm-read', 'vm-write', 'prlimit', 'prlimit-read', 'priority', 'io-priority', 'affinity', 'scheduler',
  'descriptor', 'descriptor-signal', 'compare', 'robust-list', 'madvise',
] as const // prettier-ignore

/** The victim lives through the attempt, or the attempt succeeded. */
function against(attempt: (sandbox: PackedSandbox, victim: Victim) => Promise<unknown>): (ground: Ground) => Promise<void> {
  return (ground) =>
    withPacked(ground, async (sandbox) => {
      const victim = await startVictim(sandbox.inside, sandbox.alice)
      await attempt(sandbox, victim)
      const listed = (await sandbox.inside.processes.list()).find(({ id }) => id === victim.execution.id)
      expect(listed).toMatchObject({ state: 'running', uid: sandbox.alice.uid })
      await victim.execution.kill()
    })
}

/** Escapees of every kind, as many as fit into one user's share. */
const ESCAPES = [['escape', 'leave'], ['escape', 'stay'], ['escape-with-family'], ['breed']] as const

export const NEIGHBOURS: Proofs<Ground> = {
  'run as nobody in particular, as root, as the usual user or as somebody outside the range': (ground) =>
    withPacked(ground, async ({ inside, packed, alice }) => {
      const whos = [undefined, 0, 1, 1000, 65_533, 65_534, packed.firstUid - 1, packed.firstUid + packed.count, 0xffff_fffe]
      for (const uid of whos) {
        const who = uid === undefined ? {} : { uid }
        const refusal = uid === 0 ? 'invalid_request' : 'command_not_started'
        expect(await outcomeOf(() => inside.exec({ argv: ['true'], cwd: '/', ...who })), `uid ${uid}`).toBe(refusal)
        expect(await outcomeOf(() => inside.files.list('/', who)), `uid ${uid}`).toBe(refusal)
      }
      expect(await outcomeOf(() => inside.exec({ argv: ['true'], cwd: '/', user: 'nobody' }))).toBe('command_not_started')
      expect(await outcomeOf(() => inside.processes.killUser(1000))).toBe('invalid_request')
      expect((await shellAs(inside, alice, 'id -u; id -g; id -G; echo "$HOME"; pwd; umask; echo "$TMPDIR"')).stdout).toBe(
        `${alice.uid}\n${alice.uid}\n${alice.uid}\n${alice.home}\n${alice.home}\n0077\n${alice.home}/.tmp\n`,
      )
    }),

  'find a shared workspace, home or place to list': (ground) =>
    withPacked(ground, async ({ inside, mallory }) => {
      for (const place of ['/workspace', '/home/user'])
        expect((await shellAs(inside, mallory, `test -e ${place} || echo none`)).stdout, place).toBe('none\n')
      for (const place of ['/sessions', '/tmp', '/dev/shm']) await holdsAs(inside, as(mallory), 'list-directory', place)
      const { stdout } = await shellAs(
        inside,
        mallory,
        'cat /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/tasks 2>/dev/null',
      )
      expect(stdout).toBe('')
    }),

  'read the files of a neighbour': against(async ({ inside, mallory, alice }, { secret }) => {
    const places = [alice.home, alice.workspace, `${alice.home}/.tmp`]
    for (const path of [...places.map((place) => `${place}/note`), `/tmp/${secret}`, `/dev/shm/${secret}`]) {
      expect((await shellAs(inside, alice, `cat ${path}`)).stdout, path).toBe(`${secret}\n`)
      await holdsAs(inside, as(mallory), 'read', path, secret)
      expect(await outcomeOf(() => inside.files.read(path, { uid: mallory.uid })), path).toBe('file_operation_failed')
      expect((await buffer(await inside.files.read(path, { uid: alice.uid }))).toString()).toBe(`${secret}\n`)
    }
    for (const place of places) await holdsAs(inside, as(mallory), 'list-directory', place)
  }),

  'change the files of a neighbour': against(async ({ inside, mallory, alice }, { secret }) => {
    for (const place of [dirname(alice.home), alice.home, alice.workspace, `${alice.home}/.tmp`]) {
      await holdsAs(inside, as(mallory), 'change-directory', place)
      expect(await outcomeOf(() => inside.files.write(`${place}/note`, 'no', { uid: mallory.uid })), place).toBe('file_operation_failed')
      expect(await outcomeOf(() => inside.files.remove(`${place}/note`, { uid: mallory.uid })), place).toBe('file_operation_failed')
    }
    for (const path of [`/tmp/${secret}`, `/dev/shm/${secret}`])
      expect((await shellAs(inside, mallory, `rm -f ${path}; mv ${path} ${path}.moved; : > ${path}`)).exitCode, path).not.toBe(0)
    const kept = `cat note "$TMPDIR/note" ${alice.workspace}/note /tmp/${secret} /dev/shm/${secret}`
    expect((await shellAs(inside, alice, kept)).stdout).toBe(`${secret}\n`.repeat(5))
  }),

  'see a neighbour in /proc': against(async ({ inside, mallory }, { execution, secret }) => {
    await holdsAs(inside, as(mallory), 'see-neighbour', String(execution.pid))
    await holdsAs(inside, as(mallory), 'find-process', secret)
    await holdsAs(inside, as(mallory), 'see-neighbour', '1')
    expect((await inside.stats({ uid: mallory.uid })).pids).toBe(1)
  }),

  'signal a neighbour by any call': against(({ inside, mallory }, { execution }) =>
    holdsAs(inside, as(mallory), 'signal-neighbour', String(execution.pid)),
  ),

  'kill everything that can be killed, neighbours too': against(({ inside, mallory }) => holdsAs(inside, as(mallory), 'kill-everything')),

  'trace, slow down or take from a neighbour': against(async ({ inside, mallory, alice }, { execution }) => {
    for (const way of WAYS) await holdsAs(inside, as(mallory), 'touch-neighbour', String(execution.pid), way)
    await holdsAs(inside, as(mallory), 'touch-neighbour', String(execution.pid), 'priority-of-user', String(alice.uid))
  }),

  'become a neighbour': against(async ({ inside, mallory, alice }) => {
    await holdsAs(inside, as(mallory), 'become-neighbour', String(alice.uid))
    // By a file that the neighbour let everybody run as itself.
    await shellAs(inside, alice, `cp ${ATTACK} /tmp/as-alice && chmod 6755 /tmp/as-alice`)
    const { stdout } = await run(inside, { argv: ['/tmp/as-alice', 'become-neighbour', String(alice.uid)], ...as(mallory) })
    expect(stdout).toMatch(/^held: /)
  }),

  'open the terminal of a neighbour': against(({ inside, mallory }, { terminal }) =>
    holdsAs(inside, as(mallory), 'open-terminal', terminal),
  ),

  'find the environment of an execution that has ended': (ground) =>
    withPacked(ground, async ({ inside, alice, mallory }) => {
      const canary = `canary-${crypto.randomUUID()}`
      // Behind much else, so that no later request happens to lie over it.
      const env = { FILLER: 'x'.repeat(40_000), CANARY: canary }
      expect((await shellAs(inside, alice, 'test -n "$CANARY"', env)).exitCode).toBe(0)
      const search = `grep -rlF ${canary.slice(0, 20)} /tmp /run /dev/shm /proc/[0-9]*/environ "$HOME" 2>/dev/null; true`
      for (const who of [alice, mallory]) expect((await shellAs(inside, who, search)).stdout).toBe('')
      // From the host, where nothing is hidden: no environment, no argument and no memory of the guest has it.
      const processes = processesOf(basename(ground.laboratory.directory))
      expect(processes).not.toEqual([])
      for (const { pid } of processes) {
        for (const file of ['environ', 'cmdline'] as const) expect(textOf(pid, file)).not.toContain(canary)
        expect(memoryContains(pid, canary), `memory of ${pid}`).toBe(false)
      }
    }),

  'live on when everything of its user is killed': (ground) =>
    withPacked(ground, async ({ inside, alice, mallory }) => {
      const marker = `packed-${crypto.randomUUID()}`
      const bystander = await startVictim(inside, alice)
      const escapees = await Promise.all(
        ESCAPES.map(async ([name, ...values]) => {
          const execution = await inside.exec({ argv: [ATTACK, name, marker, ...values], ...as(mallory) })
          await lineFrom(execution.output, (line) => line.startsWith('held: '))
          return execution
        }),
      )
      await shellAs(inside, mallory, `setsid nohup sh -c 'while :; do sleep 1; done' ${marker} > /dev/null 2>&1 &`)
      expect(processesOfUser(mallory.uid).length).toBeGreaterThanOrEqual(6)
      expect(await inside.processes.killUser(mallory.uid, 50)).toMatchObject({ verified: true })
      expect(processesOfUser(mallory.uid)).toEqual([])
      expect(processesOf(marker)).toEqual([])
      const states = new Map((await inside.processes.list()).map(({ id, state }) => [id, state]))
      for (const { id } of escapees) expect(states.get(id)).toBe('ended')
      expect(states.get(bystander.execution.id)).toBe('running')
      // Nothing is left to kill, the user may come back, and its neighbour never noticed.
      expect(await inside.processes.killUser(mallory.uid)).toEqual({ killed: 0, verified: true })
      await holdsAs(inside, as(mallory), 'become-neighbour', String(alice.uid))
      expect(processesOfUser(alice.uid)).not.toEqual([])
      expect(await inside.processes.killUser(alice.uid)).toMatchObject({ verified: true })
      expect(processesOfUser(alice.uid)).toEqual([])
    }),

  'start something just before everything of its user is killed': (ground) =>
    withPacked(ground, async ({ inside, mallory }) => {
      const marker = `packed-${crypto.randomUUID()}`
      const start = () => inside.exec({ argv: [ATTACK, 'escape', marker, 'stay'], ...as(mallory) }).catch(() => null)
      for (let round = 0; round < 5; round++) {
        // Sent without a pause between them, so that the kill meets programs that are only being started.
        const starts = [start(), start(), start()]
        const report = inside.processes.killUser(mallory.uid)
        const late = start()
        expect(await report).toMatchObject({ verified: true })
        await Promise.all([...starts, late])
        expect(processesOf(marker)).toEqual([])
      }
    }),

  'take every process there is from its neighbours': (ground) => {
    needing(ground, 'pids')
    return withPacked(ground, async ({ inside, alice, mallory }) => {
      const bomb = await inside.exec({ argv: [ATTACK, 'fork-bomb'], ...as(mallory) })
      expect(await lineFrom(bomb.output, () => true)).toMatch(/^held: full/)
      // A failing fork counts for a moment too, so the limit may have been met a little early; what stays fills the rest.
      const start = () => outcomeOf(() => inside.exec({ argv: ['sleep', '1000'], ...as(mallory) }))
      await expect.poll(start).toBe('capacity_exhausted')
      expect(processesOfUser(mallory.uid).length).toBeLessThanOrEqual(PIDS_PER_UID + 1)
      for (let turn = 0; turn < 5; turn++) expect((await shellAs(inside, alice, 'true & true & wait; echo up')).stdout).toBe('up\n')
      expect(await inside.processes.killUser(mallory.uid, 50)).toMatchObject({ verified: true })
      expect(processesOfUser(mallory.uid)).toEqual([])
    })
  },
}
