/** From a configuration to a plan: which project, which paths, which dependencies, and what is refused. */
import fc from 'fast-check'
import { McpServerConfig } from '@holdfast/protocol/mcp'
import type { McpServerConfigInput } from '@holdfast/protocol/mcp'
import { describe, expect, test } from 'vitest'
import { fakeHost } from './contract/fake-host.ts'
import { planLaunch } from './plan.ts'
import { sandboxWishOf } from './sandbox-wish.ts'

const PROJECT = '/workspace/.mcp/demo/project'
const VENV = '/workspace/.mcp/demo/.venv'

const plan = (config: McpServerConfigInput, ...paths: readonly string[]) =>
  planLaunch('demo', McpServerConfig.parse(config), fakeHost(paths))
/** What is run, without the shell that sets the PATH. */
const commandOf = ({ argv }: { readonly argv: readonly string[] }) => (argv[0] === '/bin/sh' && argv[3] === 'sh' ? argv.slice(5) : argv)

describe('a server without a project', () => {
  test('is run as it is written, in the workspace', async () => {
    expect(
      await plan({ command: 'npx', args: ['-y', 'some-server', '/workspace/data'], env: { A: '1' }, box: { env: { B: '2', A: '0' } } }),
    ).toEqual({
      projectRoot: null,
      mode: 'plain',
      argv: ['npx', '-y', 'some-server', '/workspace/data'],
      cwd: null,
      env: { A: '1', B: '2' },
      stage: null,
      mount: null,
      dependencies: null,
      notes: [],
    })
  })

  test('in a box without a network is told so, unless its configuration says something else', async () => {
    const box = { network: 'off' } as const
    expect((await plan({ command: 'npx', args: ['x'], box })).env).toEqual({ npm_config_offline: 'true', UV_OFFLINE: '1' })
    const env = { npm_config_offline: 'false' }
    expect((await plan({ command: 'npx', args: ['x'], env, box })).env).toMatchObject(env)
  })

  test('may be told of paths of the box, which are never looked for on the host', async () => {
    const asked: string[] = []
    const config = McpServerConfig.parse({ command: '/usr/bin/python3', args: ['/workspace/server.py', '/etc/passwd', '--log=/run/x'] })
    const { argv, projectRoot } = await planLaunch(
      'demo',
      config,
      fakeHost(['/usr/bin/python3', '/workspace/server.py', '/etc/passwd'], (path) => asked.push(path)),
    )
    expect({ argv, projectRoot, asked }).toEqual({
      argv: ['/usr/bin/python3', '/workspace/server.py', '/etc/passwd', '--log=/run/x'],
      projectRoot: null,
      asked: [],
    })
  })

  test('says of a path that the host does not show that it is left as it is', async () => {
    const { argv, notes } = await plan({ command: 'python3', args: ['/home/me/demo/server.py'] })
    expect(argv).toEqual(['python3', '/home/me/demo/server.py'])
    expect(notes).toEqual([expect.stringContaining("'/home/me/demo/server.py' is taken as a path of the box")])
  })

  test('has the workspace where its client would have a folder', async () => {
    const config = {
      command: '${workspaceFolder}/run',
      args: ['--root=${workspaceFolder}'],
      cwd: '${workspaceFolder}/sub',
      env: { R: '${workspaceFolder}' },
    }
    expect(await plan(config)).toMatchObject({
      argv: ['/workspace/run', '--root=/workspace'],
      cwd: '/workspace/sub',
      env: { R: '/workspace' },
    })
  })
})

describe('a project', () => {
  const PYTHON = ['/home/me/demo/server.py', '/home/me/demo/requirements.txt', '/home/me/demo/.venv/bin/activate']

  test('is what its interpreter and its file have in common, and its interpreter is the one of the box', async () => {
    const found = await plan({ command: '/home/me/demo/.venv/bin/python3.12', args: ['/home/me/demo/server.py'] }, ...PYTHON)
    expect(found).toMatchObject({
      projectRoot: '/home/me/demo',
      mode: 'copied',
      cwd: PROJECT,
      env: { VIRTUAL_ENV: VENV },
      stage: { source: '/real/home/me/demo' },
      mount: null,
      dependencies: { runtimes: ['python'], network: 'on', timeoutMs: 300_000 },
      notes: [],
    })
    expect(commandOf(found)).toEqual(['python3', `${PROJECT}/server.py`])
    expect(found.argv[4]).toBe(`${VENV}/bin`)
  })

  test.each(['.venv', 'venv', 'env', '.env'])('may have its environment in %s', async (name) => {
    const found = await plan(
      { command: `/app/${name}/bin/python`, args: ['-m', 'demo'] },
      `/app/${name}/bin/activate`,
      '/app/pyproject.toml',
    )
    expect([found.projectRoot, commandOf(found)]).toEqual(['/app', ['python3', '-m', 'demo']])
  })

  test('has programs of its environment under their names', async () => {
    const found = await plan(
      { command: '/app/.venv/bin/demo-server', args: ['--python', '/app/.venv/bin/python'] },
      '/app/.venv/',
      '/app/setup.py',
    )
    expect(commandOf(found)).toEqual(['demo-server', '--python', 'python3'])
  })

  test('keeps a file that is called .env', async () => {
    const { argv } = await plan({ command: 'sh', args: ['/app/run.sh', '--env-file=/app/.env'] }, '/app/run.sh', '/app/.env')
    expect(argv).toEqual(['sh', `${PROJECT}/run.sh`, `--env-file=${PROJECT}/.env`])
  })

  test('is the one whose manifest lies above the program', async () => {
    const found = await plan(
      { command: 'node', args: ['/srv/demo/dist/src/index.js'] },
      '/srv/demo/dist/src/index.js',
      '/srv/demo/package.json',
      '/srv/package.json',
    )
    expect(found).toMatchObject({ projectRoot: '/srv/demo', dependencies: { runtimes: ['node'] } })
    expect(commandOf(found)).toEqual(['node', `${PROJECT}/dist/src/index.js`])
  })

  test('does not grow beyond a directory that is only served', async () => {
    const found = await plan(
      { command: 'npx', args: ['-y', 'server-filesystem', '/srv/demo/data'] },
      '/srv/demo/data/',
      '/srv/demo/package.json',
    )
    expect(found).toMatchObject({ projectRoot: '/srv/demo/data', dependencies: null, argv: ['npx', '-y', 'server-filesystem', PROJECT] })
  })

  test('may be told by its working directory', async () => {
    const found = await plan({ command: 'uv', args: ['run', 'server.py'], cwd: '/srv/demo' }, '/srv/demo/pyproject.toml')
    expect(found).toMatchObject({ projectRoot: '/srv/demo', cwd: PROJECT, dependencies: null, argv: ['uv', 'run', 'server.py'] })
  })

  test('that npx runs a program of needs its dependencies', async () => {
    const found = await plan(
      { command: 'npx', args: ['tsx', '/srv/demo/src/index.ts'] },
      '/srv/demo/src/index.ts',
      '/srv/demo/package.json',
    )
    expect(found).toMatchObject({ projectRoot: '/srv/demo', dependencies: { runtimes: ['node'] } })
  })

  test('of both kinds is installed for the runtime that the command names, or for both', async () => {
    const paths = ['/srv/demo/run', '/srv/demo/package.json', '/srv/demo/requirements.txt']
    const runtimes = async (command: string) => (await plan({ command, args: ['/srv/demo/run'] }, ...paths)).dependencies?.runtimes
    expect([await runtimes('python3'), await runtimes('node'), await runtimes('sh')]).toEqual([['python'], ['node'], ['python', 'node']])
  })

  test('is the one that host_path names, and what lies elsewhere is left', async () => {
    const config = {
      command: '/home/me/.venv/bin/python',
      args: ['/home/me/demo/server.py', '/home/me/data'],
      box: { host_path: '/home/me/demo/' },
    }
    const found = await plan(config, '/home/me/.venv/', '/home/me/demo/server.py', '/home/me/data/')
    expect([found.projectRoot, found.argv]).toEqual(['/home/me/demo', ['python3', `${PROJECT}/server.py`, '/home/me/data']])
    expect(found.notes).toEqual([expect.stringContaining("'/home/me/data' is taken as a path of the box: it is not in the project")])
  })

  test('is mounted when its server is to write there', async () => {
    const config = McpServerConfig.parse({ command: 'node', args: ['/srv/demo/a.js'], box: { host_path_mode: 'rw', memory_mb: 256 } })
    const found = await planLaunch('demo', config, fakeHost(['/srv/demo/a.js']))
    expect(found).toMatchObject({ mode: 'mounted', stage: null, mount: { source: '/real/srv/demo', target: PROJECT, mode: 'rw' } })
    expect(sandboxWishOf(config.box, found)).toEqual({ network: 'on', limits: { memory_bytes: 268_435_456 }, mounts: [found.mount] })
  })

  test('is not shown when host_path_mode says so', async () => {
    const found = await plan({ command: 'node', args: ['/srv/demo/a.js'], box: { host_path_mode: 'none' } }, '/srv/demo/a.js')
    expect(found).toMatchObject({ mode: 'plain', projectRoot: null, argv: ['node', '/srv/demo/a.js'] })
  })

  test('is rewritten in flags, lists, addresses, shell lines and the environment', async () => {
    const args = [
      '--file=/srv/demo/a',
      '-c',
      'cd "/srv/demo" && ls /srv/demo/x',
      'file:///srv/demo/a',
      '/srv/demo/./b/../a',
      '--x=/other/../srv//demo/a',
      '/srv/demo/../data',
      '/srv/demo-old/a',
      '/other/srv/demo',
    ]
    const { argv, env } = await plan(
      { command: '/srv/demo/a', args, env: { PYTHONPATH: '/srv/demo/a:/usr/lib:/srv/demo', HOME: '/srv' } },
      '/srv/demo/a',
    )
    expect(argv).toEqual([
      `${PROJECT}/a`,
      `--file=${PROJECT}/a`,
      '-c',
      `cd "${PROJECT}" && ls ${PROJECT}/x`,
      `file://${PROJECT}/a`,
      `${PROJECT}/a`,
      `--x=${PROJECT}/a`,
      '/srv/demo/../data',
      '/srv/demo-old/a',
      '/other/srv/demo',
    ])
    expect(env).toEqual({ PYTHONPATH: `${PROJECT}/a:/usr/lib:${PROJECT}`, HOME: '/srv' })
  })
})

describe('no project', () => {
  test.each([
    [
      { command: 'npx', args: ['server-filesystem', '/home/me'] },
      ['/home/me/'],
      /^args\.1: '\/home\/me' lies in no project: \/home\/me is a home directory; .*box\.host_path/,
    ],
    [{ command: 'cat', args: ['/home/me/a.py'] }, ['/home/me/a.py'], /^args\.0: .* is a home directory/],
    [{ command: 'cat', args: ['/srv'] }, ['/srv/'], /^args\.0: .* a directory of the system/],
    [
      { command: 'cat', args: ['/srv/a/x', '/srv/b/y'] },
      ['/srv/a/x', '/srv/b/y'],
      /^args\.0: '\/srv\/a\/x', '\/srv\/b\/y' have no project in common; .*box\.host_path/,
    ],
    [{ command: 'cat', args: ['/'] }, [], /^args\.0: .* the whole host/],
  ])('%j is refused, with the field and the fix', async (config, paths, sentence) => {
    await expect(plan(config, ...paths)).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringMatching(sentence) })
  })

  test('host_path that may not be shown is refused as a mount is', async () => {
    await expect(plan({ command: 'x', box: { host_path: '/secret' } }, '/srv/a')).rejects.toMatchObject({
      code: 'mount_refused',
      message: expect.stringContaining('it is not under an allowed root'),
    })
    await expect(plan({ command: 'x', box: { host_path: '/srv/a' } }, '/srv/a')).rejects.toMatchObject({
      code: 'mount_refused',
      message: "box.host_path: '/srv/a' is not a directory",
    })
  })
})

describe('whatever the names', () => {
  const segment = fc.stringMatching(/^[\p{L}\p{N}_][\p{L}\p{N}_ +~%-]{0,6}[\p{L}\p{N}_]$/u)
  const root = fc.array(segment, { minLength: 2, maxLength: 4 }).map((names) => `/top/${names.join('/')}`)
  const below = fc.array(segment, { minLength: 0, maxLength: 3 }).map((names) => names.map((name) => `/${name}`).join(''))
  const around = fc.constantFrom(
    (path: string) => path,
    (path: string) => `--flag=${path}`,
    (path: string) => `VAR=${path}`,
    (path: string) => `${path}:/usr/lib:${path}`,
    (path: string) => `"${path}"`,
    (path: string) => `cd '${path}' && cat ${path}`,
    (path: string) => `file://${path}`,
    (path: string) => `sqlite:///${path}`,
    (path: string) => `{"path":"${path}"}`,
    (path: string) => `@${path}`,
  )

  test('nothing of the project’s path on the host is left in a command, its directory or its environment', async () => {
    await fc.assert(
      fc.asyncProperty(root, fc.array(fc.tuple(below, around), { minLength: 1, maxLength: 5 }), async (path, uses) => {
        const words = uses.map(([rest, write]) => write(path + rest))
        const config = { command: `${path}/run`, args: words, cwd: path, env: { A: words.join(' ') }, box: { host_path: path } }
        const { argv, cwd, env } = await plan(config, `${path}/run`)
        expect(JSON.stringify([argv, cwd, env])).not.toContain(path)
      }),
    )
  })

  test('nothing outside of the project is changed', async () => {
    await fc.assert(
      fc.asyncProperty(root, below, segment, around, async (path, rest, more, write) => {
        const outside = [
          `${path}${more}${rest}`,
          `${path}-${more}`,
          `${path}.bak${rest}`,
          `/${more}${path}${rest}`,
          `${path.slice(0, path.lastIndexOf('/'))}/${more}x9${rest}`,
        ]
        // A name that goes on behind a blank reads like the project and a next word.
        const words = outside
          .filter((each) => each !== path && !/^[/ ]/.test(each.startsWith(path) ? each.slice(path.length) : ''))
          .map(write)
        const { argv } = await plan({ command: 'x', args: words, box: { host_path: path } }, `${path}/`)
        expect(argv).toEqual(['x', ...words])
      }),
    )
  })
})
