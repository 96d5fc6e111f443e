/** Projects of MCP servers on their way into a box: copied, installed, run, and the second time only run. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServerConfig } from '@holdfast/protocol/mcp'
import type { McpServerConfigInput } from '@holdfast/protocol/mcp'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../test/environment/backends.ts'
import { openGround } from '../../../../../test/servers/ground.ts'
import type { Ground } from '../../../../../test/servers/ground.ts'
import { personOf, principal } from '../../../../../test/servers/person.ts'
import type { Person } from '../../../../../test/servers/person.ts'
import type { TestServer } from '../../../../../test/servers/test-server.ts'
import { DEFAULT_TENANT_ID } from '../../access/principal.ts'
import { sessionMounts } from '../../policy/session-mounts.ts'
import { nodeProject, packagedProject, pythonProject } from './contract/sample-projects.ts'
import { hostLook } from './host-look.ts'
import { installDependencies } from './install-dependencies.ts'
import { planLaunch } from './plan.ts'
import type { LaunchPlan, StagePlan } from './plan.ts'
import { stageProject } from './stage-project.ts'

const BASE = '/workspace/.mcp/demo'
const ROOMY = { wish: { limits: { memory_bytes: 512 * 1024 * 1024, pids: 200 } } }
/** Boxes of bubblewrap have the programs of this machine; what the test image can install, published servers show (`test/interop/mcp`). */
const hasProgram = (program: string, ...args: readonly string[]) =>
  spawnSync(program, args, { env: { PATH: '/usr/bin:/bin' } }).status === 0
const HAS_VENV = hasProgram('/usr/bin/python3', '-c', 'import ensurepip')
const HAS_NPM = hasProgram('/usr/bin/npm', '--version')

for (const under of await backendsAbovePort()) {
  describe.skipIf(under.skipReason !== null)(`a project in a box of ${under.kind}${because(under)}`, () => {
    const isRich = under.kind === 'bubblewrap'
    let ground: Ground
    let server: TestServer
    let alice: Person
    let host: string
    let source: string
    let sessionId: string
    let told: string[]

    beforeEach(async () => {
      host = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-host-')))
      source = join(host, 'demo')
      mkdirSync(source)
      ground = openGround(under)
      server = await ground.start('one')
      alice = await personOf(server, principal('alice'))
      sessionId = (await alice.get('work', ROOMY)).session.id
      told = []
    })
    afterEach(async () => {
      await ground.close()
      rmSync(host, { recursive: true, force: true })
    })

    function planOf(config: McpServerConfigInput): Promise<LaunchPlan> {
      const user = { uid: 1000, gid: 1000 }
      const mounts = sessionMounts({ allowedRoots: [host], stateDir: server.home.stateDir, user, defaultWorkspace: null })
      const look = hostLook(mounts, { tenantId: DEFAULT_TENANT_ID, owner: 'alice' })
      return planLaunch('demo', McpServerConfig.parse({ box: { network: 'off' }, ...config }), look)
    }
    async function prepare({ stage, dependencies }: LaunchPlan, signal = new AbortController().signal) {
      const { commands, files } = server.sessions
      const target = { caller: alice.caller, sessionId }
      const onProgress = (line: string) => void told.push(line)
      const staged = stage === null ? null : await stageProject(files, target, stage, onProgress, signal)
      const installed =
        dependencies === null ? null : await installDependencies({ commands, files }, target, dependencies, onProgress, signal)
      return { ...(staged === null ? {} : { isCopied: staged.isCopied }), ...installed }
    }
    async function ask({ argv, cwd, env }: LaunchPlan, line: string): Promise<string> {
      const command = { argv, env, stdin: line, ...(cwd === null ? {} : { cwd }) }
      return server.sessions.commands.run(
        alice.caller,
        { id: sessionId },
        { command },
        new AbortController().signal,
        async ({ finish }) => {
          let said = ''
          await finish(({ bytes }) => void (said += bytes.toString('utf8')))
          return said
        },
      )
    }
    const sh = async (script: string) => {
      const { stdout, stderr } = await alice.sh({ id: sessionId }, script)
      return stdout + stderr
    }

    test('without dependencies is copied whole, run, and copied again when it changed; what the box made at its top stays', async () => {
      writeFileSync(join(source, 'server.py'), 'import sys; print("first", *sys.argv[1:])\n')
      symlinkSync('/etc/passwd', join(source, 'out'))
      const plan = await planOf({ command: 'python3', args: [`${source}/server.py`, `${source}/x y`] })
      expect(await prepare(plan)).toEqual({ isCopied: true })
      expect(told).toEqual([
        'copying the project: 1 files, 0.0 MB',
        "'out' is not copied: it is a link that leads out of the project",
        'copied the project: 1 files, 0.0 MB',
      ])
      expect(await ask(plan, '')).toBe(`first ${BASE}/project/x y\n`)
      expect(await prepare(plan)).toEqual({ isCopied: false })

      await sh(
        `cd ${BASE}/project && mkdir .venv .cache node_modules ../project.new_0 && echo kept | tee .venv/x .cache/x node_modules/x > stale`,
      )
      writeFileSync(join(source, 'server.py'), 'print("second")\n')
      expect(await prepare(plan)).toEqual({ isCopied: true })
      expect(await ask(plan, '')).toBe('second\n')
      expect(await sh(`cd ${BASE}/project && cat .venv/x .cache/x node_modules/x; ls -A . ..`)).toBe(
        'kept\nkept\nkept\n.:\n.cache\n.venv\nnode_modules\nserver.py\n\n..:\nproject\nproject.copied\n',
      )
    })

    test('that is cut off on its way leaves the old copy, and is copied again', async () => {
      writeFileSync(join(source, 'a.py'), 'print("old")\n')
      const plan = await planOf({ command: 'python3', args: [`${source}/a.py`] })
      await prepare(plan)
      writeFileSync(join(source, 'a.py'), 'print("new")\n')
      writeFileSync(join(source, 'large'), Buffer.alloc(40_000_000))
      const leaving = new AbortController()
      const cut = stageProject(
        server.sessions.files,
        { caller: alice.caller, sessionId },
        requireStage(plan),
        (line) => line.includes(' of ') && leaving.abort(),
        leaving.signal,
      )
      await expect(cut).rejects.toMatchObject({ code: 'request_cancelled' })
      expect(await ask(plan, '')).toBe('old\n')
      expect(await prepare(plan)).toEqual({ isCopied: true })
      expect(await ask(plan, '')).toBe('new\n')
      expect(await sh(`ls -A ${BASE}; stat -c %s ${BASE}/project/large`)).toBe('project\nproject.copied\n40000000\n')
    })

    test.skipIf(!isRich || !HAS_VENV)(
      'of Python is copied without what is of the host, installed in an environment of the box, and run twice',
      async () => {
        pythonProject(source)
        const plan = await planOf({ command: `${source}/.venv/bin/python`, args: [`${source}/server.py`, `--root=${source}`] })
        expect(await prepare(plan)).toEqual({ isCopied: true, isInstalled: true })
        expect(told).toEqual(
          expect.arrayContaining([
            'copying the project: 3 files, 0.0 MB',
            'copied the project: 3 files, 0.0 MB',
            'installing dependencies (Python, 1 of 2): python3 -m venv',
            'installing dependencies (Python, 2 of 2): pip install -r requirements.txt',
            expect.stringMatching(/2 of 2\): .*Successfully installed greeting-1\.0/),
            'installed dependencies (Python)',
          ]),
        )
        expect(await sh(`ls -A ${BASE}/project; ls -A ${BASE}`)).toBe(
          'requirements.txt\nserver.py\nvendor\n.tmp\n.venv\nproject\nproject.copied\n',
        )
        const answer = { greeting: 'hello from a wheel', prefix: `${BASE}/.venv`, argv: [`--root=${BASE}/project`], cwd: `${BASE}/project` }
        expect(JSON.parse(await ask(plan, '{"id": 1}\n'))).toEqual({ id: 1, ...answer })

        told.length = 0
        expect(await prepare(plan)).toEqual({ isCopied: false, isInstalled: false })
        expect(told).toEqual([])
        expect(JSON.parse(await ask(plan, '{"id": 2}\n'))).toEqual({ id: 2, ...answer })
      },
    )

    test.skipIf(!isRich || !HAS_VENV)(
      'that is a package has its programs, which follow its files; only other manifests are installed again',
      async () => {
        packagedProject(source)
        const plan = await planOf({ command: `${source}/.venv/bin/demo-server` })
        await prepare(plan)
        expect(await ask(plan, '')).toBe('first\n')
        writeFileSync(join(source, 'src/demo_server.py'), 'def main():\n    print("second")\n')
        expect(await prepare(plan)).toEqual({ isCopied: true, isInstalled: false })
        expect(await ask(plan, '')).toBe('second\n')

        writeFileSync(join(source, 'pyproject.toml'), '[project]\nname = "demo"\nversion = "2"\ndependencies = ["only-in-a-registry"]\n')
        await expect(prepare(plan)).rejects.toMatchObject({
          code: 'dependencies_failed',
          message: expect.stringMatching(
            /pip install of the project ended with 1 .*only-in-a-registry.*; the network of the box is off.*box\.network to "on"/,
          ),
          details: { phase: 'dep_install', output: expect.stringContaining('only-in-a-registry') },
        })
      },
    )

    test.skipIf(!isRich || !HAS_NPM).each([{ isLocked: false }, { isLocked: true }])(
      'of Node ($isLocked: with a lock file) is installed with the npm of the box, and run twice (needs npm in /usr/bin)',
      async (kind) => {
        nodeProject(source, kind)
        const plan = await planOf({ command: 'node', args: [`${source}/dist/index.js`, 'x'] })
        expect(await prepare(plan)).toEqual({ isCopied: true, isInstalled: true })
        expect(told).toContain(`installing dependencies (Node, 1 of 2): npm ${kind.isLocked ? 'ci' : 'install'}`)
        const answer = { greeting: 'hello from a script', argv: ['x'], cwd: `${BASE}/project` }
        expect(JSON.parse(await ask(plan, '{"id": 1}\n'))).toEqual({ id: 1, ...answer })
        expect(await prepare(plan)).toEqual({ isCopied: false, isInstalled: false })
        expect(JSON.parse(await ask(plan, '{"id": 2}\n'))).toEqual({ id: 2, ...answer })

        // What is installed from the project itself is installed again with it.
        writeFileSync(join(source, 'vendor/greeting/index.js'), "export { TEXT } from './made.js' // changed\n")
        expect(await prepare(plan)).toEqual({ isCopied: true, isInstalled: true })
        expect(JSON.parse(await ask(plan, '{"id": 3}\n'))).toEqual({ id: 3, ...answer })
      },
    )

    test.skipIf(!isRich || !HAS_VENV)('whose installation is given up leaves nothing that counts as installed', async () => {
      packagedProject(source)
      writeFileSync(join(source, 'backend.py'), 'import time\ntime.sleep(600)\n')
      const plan = await planOf({ command: `${source}/.venv/bin/demo-server` })
      const leaving = new AbortController()
      const { commands, files } = server.sessions
      const target = { caller: alice.caller, sessionId }
      const onProgress = (line: string) => {
        told.push(line)
        if (line.includes('2 of 2')) leaving.abort()
      }
      if (plan.dependencies === null) throw new Error('nothing is to be installed')
      await stageProject(files, target, requireStage(plan), onProgress, leaving.signal)
      const given = installDependencies({ commands, files }, target, plan.dependencies, onProgress, leaving.signal)
      await expect(given).rejects.toMatchObject({ code: 'request_cancelled' })
      writeFileSync(join(source, 'backend.py'), 'def build_editable(directory, settings=None, metadata=None): raise SystemExit(9)\n')
      await expect(prepare(plan)).rejects.toMatchObject({ code: 'dependencies_failed' })
    })
  })
}

function requireStage({ stage }: LaunchPlan): StagePlan {
  if (stage === null) throw new Error('nothing is to be copied')
  return stage
}
