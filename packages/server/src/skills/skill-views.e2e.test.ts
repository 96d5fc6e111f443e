/** Skills in a running sandbox: they come, change and go under a program that works there, and the sandbox stays the same one. */
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../../test/environment/backends.ts'
import { eventually } from '../../../../test/servers/eventually.ts'
import { openGround } from '../../../../test/servers/ground.ts'
import type { Ground } from '../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../test/servers/person.ts'
import type { Person } from '../../../../test/servers/person.ts'
import type { TestServer } from '../../../../test/servers/test-server.ts'
import { DEFAULT_TENANT_ID } from '../access/principal.ts'
import { withPythonEnvironment } from './python-bootstrap.ts'
import type { SkillStore } from './skill-store.ts'

for (const under of await backendsUnderTest()) {
  describe.skipIf(under.skipReason !== null)(`skills in a sandbox of ${under.kind}${because(under)}`, () => {
    let ground: Ground
    let server: TestServer
    let alice: Person
    let store: SkillStore

    beforeEach(async () => {
      ground = openGround(under)
      await start()
    })
    afterEach(() => ground.close())

    /** Of the host, with something in it that must stay; a link inside can point to it by its name. */
    function canary(): { readonly directory: string; isWhole(): boolean } {
      const directory = join(store.directory, '../../../..', 'canary')
      mkdirSync(join(directory, 'inner'), { recursive: true })
      for (const path of ['file', 'SKILL.md', 'inner/file']) writeFileSync(join(directory, path), 'kept')
      const isWhole = () => ['file', 'SKILL.md', 'inner/file'].every((path) => readFileSync(join(directory, path), 'utf8') === 'kept')
      return { directory, isWhole }
    }

    async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
      server = await ground.start('one', settings)
      alice = await personOf(server, principal('alice'))
      store = server.plane.skills.forTenant(DEFAULT_TENANT_ID)
    }
    const sh = async (script: string) => {
      const { stdout, stderr, exitCode, session } = await alice.sh('work', script)
      return { said: `${stdout}${stderr}`, exitCode, ...session }
    }
    const show = async (id: string, ...names: readonly string[]) => {
      const all = await store.list()
      return server.plane.skillViews.fill(
        id,
        all.filter(({ name }) => names.includes(name)),
      )
    }

    test('one that is added, changed and removed appears, changes and goes, in the same incarnation', async () => {
      const { id, incarnation } = await sh('mkdir -p /workspace/kept; ls -A /workspace/.skills')
      const target = { caller: alice.caller, sessionId: id, signal: new AbortController().signal }
      const listed = async () => (await server.sessions.files.list(target, '.', { depth: 1, limit: 100 })).items.map(({ path }) => path)
      // An empty mount point is of no interest to anybody.
      expect(await listed()).toEqual(['/workspace/kept'])
      // Lives through all of it: the sandbox is not made anew.
      const { executionId } = await alice.start('work', 'while :; do sleep 1; done')
      await store.create({ name: 'demo', instructions: 'first' })
      expect(await show(id, 'demo')).toEqual({ shown: ['demo'], missing: [] })
      expect((await listed()).toSorted()).toEqual(['/workspace/.skills', '/workspace/kept'])
      expect(await sh('tail -n 1 /workspace/.skills/demo/SKILL.md')).toMatchObject({ said: 'first', incarnation })
      expect((await sh('cd /workspace/.skills/demo && echo mine > own && cat own')).said).toBe('mine\n')

      // From here on nobody fills the view: it follows the store.
      await store.update('demo', { instructions: 'second' })
      await eventually(async () => (await sh('tail -n 1 /workspace/.skills/demo/SKILL.md')).said).toBe('second')
      await store.writeFile('demo', 'bin/tool.sh', 'echo tool')
      await eventually(async () => (await sh('sh /workspace/.skills/demo/bin/tool.sh')).said).toBe('tool\n')
      expect(existsSync(join(store.directory, 'demo', 'own'))).toBe(false)

      await store.remove('demo')
      await eventually(async () => (await sh('ls -A /workspace/.skills')).said).toBe('')
      expect(await sh('ls -d /workspace/kept')).toMatchObject({ incarnation, exitCode: 0 })
      expect(await server.sessions.commands.get(alice.caller, id, executionId)).toMatchObject({ status: 'running' })
    })

    test('a package that is missing is skipped, and the sandbox works', async () => {
      const { id } = await sh('true')
      await store.create({ name: 'here' })
      const ghost = { name: 'ghost', packageRoot: join(store.directory, 'ghost') }
      const here = await store.get('here')
      expect(await server.plane.skillViews.fill(id, here === null ? [ghost] : [ghost, here])).toEqual({
        shown: ['here'],
        missing: ['ghost'],
      })
      expect((await sh('ls /workspace/.skills')).said).toBe('here\n')
      expect(existsSync(ghost.packageRoot)).toBe(false)
    })

    test('what programs make of their copies hurts nobody else', async () => {
      const { id } = await sh('true')
      await store.create({ name: 'demo', instructions: 'first' })
      await show(id, 'demo')
      const { directory, isWhole } = canary()
      const spoil = [
        `rm -rf /workspace/.skills/demo/* /workspace/.skills/demo; ln -s ${directory} /workspace/.skills/demo`,
        'chmod 0 /workspace/.skills/demo /workspace/.skills',
        'mv /workspace/.skills/demo /workspace/.skills/x; rm -rf /workspace/.skills; mv /workspace/.skills /workspace/y',
        `cd /workspace/.skills/demo && rm -f SKILL.md && ln -s ${directory}/SKILL.md SKILL.md && ln -s ${directory} d && mkdir -p a/b && chmod 0 a`,
      ]
      for (const [round, script] of spoil.entries()) {
        await sh(script)
        await store.update('demo', { instructions: `round ${round}` })
        await eventually(async () => (await sh('cat /workspace/.skills/demo/SKILL.md')).said).toContain(`round ${round}`)
      }
      expect((await store.get('demo'))?.instructions).toBe(`round ${spoil.length - 1}`)
      expect(isWhole()).toBe(true)
    })

    test('a program that stands in an old copy and keeps writing there cannot keep the server from the next one', async () => {
      const { id, incarnation } = await sh('true')
      await store.create({ name: 'demo', instructions: 'first' })
      await show(id, 'demo')
      const { directory, isWhole } = canary()
      const loop = `cd /workspace/.skills/demo && while :; do mkdir d d/e; rm -rf d; ln -s ${directory} d; : > "f$((i=i+1))"; rm -f d; done`
      await alice.start('work', loop)
      for (const text of ['second', 'third', 'fourth', 'fifth']) {
        await store.update('demo', { instructions: text })
        await eventually(async () => (await sh('tail -n 1 /workspace/.skills/demo/SKILL.md')).said).toBe(text)
      }
      expect(await sh('true')).toMatchObject({ incarnation })
      expect(isWhole()).toBe(true)
    })

    test('it is there after a restart, in the next incarnation, and gone with the session', async () => {
      const { id } = await sh('true')
      await store.create({ name: 'demo', instructions: 'first' })
      await show(id, 'demo')
      await server.close()
      await start()
      await store.update('demo', { instructions: 'second' })
      await eventually(async () => (await sh('tail -n 1 /workspace/.skills/demo/SKILL.md')).said).toBe('second')
      await server.sessions.steering.suspend(alice.caller, id)
      expect((await sh('tail -n 1 /workspace/.skills/demo/SKILL.md')).said).toBe('second')
      await server.sessions.steering.cancel(alice.caller, id)
      await eventually(async () => readdirSync(join(server.home.skillsDir, 'views'))).toEqual([])
    })

    test('a link in place of the mount point, from before there was one, is moved aside', async () => {
      const { id } = await sh('true')
      await server.sessions.steering.suspend(alice.caller, id)
      const files = join(server.home.workspacesDir, id, 'files')
      await eventually(async () => server.sandboxes()).toEqual([])
      rmdirSync(join(files, '.skills'))
      symlinkSync('/etc', join(files, '.skills'))
      expect((await sh('ls -A /workspace/.skills; cd /workspace && ls -d .skills-old_*')).said).toMatch(/^\.skills-old_\w+\n$/)
    })

    test.skipIf(under.kind !== 'bubblewrap')(
      'a Python skill has its environment made once, and again when its manifest changes',
      async () => {
        const { id } = await sh('true')
        await store.create({ name: 'snake' })
        await store.writeFile('snake', 'requirements.txt', 'one==1\n')
        expect(await store.get('snake')).toMatchObject({ pythonProject: true })
        await show(id, 'snake')
        // Instead of venv and pip, which want a network: they write down how they were called.
        await sh(`mkdir -p /workspace/fake && cat > /workspace/fake/venv.py <<'END'
import os, sys, time
os.makedirs(sys.argv[-1] + "/bin", exist_ok=True)
with open("/workspace/calls", "a") as calls: calls.write("venv\\n")
while os.path.exists("/workspace/hold"): time.sleep(0.01)
python = sys.argv[-1] + "/bin/python"
with open(python, "w") as file: file.write('#!/bin/sh\\nprintf "%s\\\\n" "$*" >> /workspace/calls\\ntest ! -e /workspace/broken || { echo no such package >&2; exit 9; }\\n')
os.chmod(python, 0o755)
END`)
        const run = (command: string) => sh(`export PYTHONPATH=/workspace/fake\n${withPythonEnvironment('snake', command)}`)
        const calls = async () => (await sh('cat /workspace/calls; rm -f /workspace/calls')).said
        await sh('touch /workspace/hold')
        const waiting = Promise.all([run('echo "it\'s $VIRTUAL_ENV"; command -v python'), run('exit 7')])
        await eventually(async () => (await sh('cat /workspace/calls')).said).toContain('venv')
        await sh('rm /workspace/hold')
        const both = await waiting
        expect(both[0]).toMatchObject({
          said: "it's /workspace/.skill-envs/snake/.venv\n/workspace/.skill-envs/snake/.venv/bin/python\n",
          exitCode: 0,
        })
        expect(both[1]).toMatchObject({ said: '', exitCode: 7 })
        expect(await calls()).toBe('venv\n-m pip install -r requirements.txt\n')
        await run('true')
        expect(await calls()).toContain('No such file')
        const note = JSON.parse((await sh('cat /workspace/.skill-envs/snake/.holdfast/python-env.json')).said) as object
        expect(note).toEqual({
          interpreter: expect.any(String),
          version: expect.any(String),
          manifests: { 'requirements.txt': expect.stringMatching(/^[0-9a-f]{64}$/) },
        })

        await store.writeFile('snake', 'requirements.txt', 'two==2\n')
        await eventually(async () => (await sh('cat /workspace/.skills/snake/requirements.txt')).said).toBe('two==2\n')
        await sh('touch /workspace/broken')
        expect(await run('echo never')).toMatchObject({
          exitCode: 1,
          said: expect.stringMatching(/no such package\nholdfast: the Python environment of this skill cannot be made/),
        })
        await sh('rm /workspace/broken /workspace/calls')
        expect(await run('echo now')).toMatchObject({ exitCode: 0, said: 'now\n' })
        expect(await calls()).toBe('venv\n-m pip install -r requirements.txt\n')

        // A holder that died holds nothing.
        await sh('echo x > /workspace/.skills/snake/requirements.txt; touch /workspace/hold')
        const { executionId } = await alice.start('work', `export PYTHONPATH=/workspace/fake\n${withPythonEnvironment('snake', 'true')}`)
        await eventually(async () => (await sh('cat /workspace/calls')).said).toContain('venv')
        await server.sessions.commands.cancel(alice.caller, id, executionId, 0)
        await sh('rm /workspace/hold')
        expect(await run('echo after')).toMatchObject({ exitCode: 0, said: 'after\n' })
      },
    )

    test('a directory of the host that is worked in has the view too, where there is a place for it', async () => {
      const root = join(store.directory, '../../../..', 'shared')
      const source = join(root, 'work')
      mkdirSync(source, { recursive: true })
      if (process.getuid?.() === 0) chownSync(source, 1000, 1000)
      await server.close()
      await start({ HOLDFAST_MOUNTS_ALLOWED_ROOTS: root })
      await store.create({ name: 'demo' })
      const inWork = (mode: 'rw' | 'ro', script: string) =>
        alice.sh(`in-${mode}`, script, { ask: { wish: { workspace: { source, mode } } } })
      const readOnly = await inWork('ro', 'ls -A /workspace')
      expect(readOnly.stdout).toBe('')
      await expect(show(readOnly.session.id, 'demo')).rejects.toMatchObject({ code: 'capability_unsupported' })
      const { session } = await inWork('rw', 'echo x > file')
      expect(await show(session.id, 'demo')).toEqual({ shown: ['demo'], missing: [] })
      expect((await inWork('rw', 'ls -A /workspace /workspace/.skills')).stdout).toBe(
        '/workspace:\n.skills\nfile\n\n/workspace/.skills:\ndemo\n',
      )
      expect(readdirSync(join(source, '.skills'))).toEqual([])
    })
  })
}
