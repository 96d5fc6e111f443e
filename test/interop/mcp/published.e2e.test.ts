/**
 * Published MCP servers in sandboxes, used through the gateway by published MCP clients.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../environment/backends.ts'
import { eventually } from '../../servers/eventually.ts'
import { npmTree, published, publishedBecause, pythonEnvironment } from '../published-packages.ts'
import { openGatewayWorld } from './gateway-world.ts'
import type { GatewayWorld } from './gateway-world.ts'
import { INSPECTOR, inspectorClient } from './inspector-client.ts'
import type { McpClient, Progress, PublishedMcpClient } from './mcp-client.ts'
import { NODE_SERVERS, SQLITE_WHEELS, TIME_WHEELS } from './published-servers.ts'
import { PYTHON_CLIENT, pythonClients } from './python-clients.ts'
import { TYPESCRIPT_CLIENTS } from './typescript-clients.ts'

const EVERYTHING_TOOLS = [
  ...[
    'echo',
    'get-annotated-message',
    'get-env',
    'get-resource-links',
    'get-resource-reference',
    'get-roots-list',
    'get-structured-content',
  ],
  ...['get-sum', 'get-tiny-image', 'gzip-file-as-resource', 'simulate-research-query', 'toggle-simulated-logging'],
  ...['toggle-subscriber-updates', 'trigger-elicitation-request', 'trigger-long-running-operation', 'trigger-sampling-request'],
  'trigger-url-elicitation',
]
/** Of the versions that are installed, in the order of the alphabet. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  filesystem: [
    ...['create_directory', 'directory_tree', 'edit_file', 'get_file_info', 'list_allowed_directories', 'list_directory'],
    ...['list_directory_with_sizes', 'move_file', 'read_file', 'read_media_file', 'read_multiple_files', 'read_text_file'],
    ...['search_files', 'write_file'],
  ],
  everything: EVERYTHING_TOOLS,
  mounted: EVERYTHING_TOOLS,
  sqlite: ['append_insight', 'create_table', 'describe_table', 'list_tables', 'read_query', 'write_query'],
  time: ['convert_time', 'get_current_time'],
}
const STEPS = [1, 2, 3, 4].map((step) => [step, 4])
const ARCHITECTURE = 'demo://resource/static/document/architecture.md'

await describePublished()

async function describePublished(): Promise<void> {
  const sets = [NODE_SERVERS, SQLITE_WHEELS, TIME_WHEELS, pythonEnvironment(PYTHON_CLIENT), npmTree(INSPECTOR)]
  const found = await Promise.all(sets.map(published))
  const missing = { skipReason: found.find(({ skipReason }) => skipReason !== null)?.skipReason ?? null }
  const [nodeServers = '', sqliteWheels = '', timeWheels = '', python = '', inspector = ''] = found.map(({ path }) => path ?? '')
  const backends = missing.skipReason === null ? await backendsAbovePort() : []

  describe.skipIf(missing.skipReason !== null)(`published MCP servers and clients${publishedBecause(missing)}`, () => {
    // A suite without a test is none, and could not be skipped by name.
    test('can be had', () => expect(missing.skipReason).toBeNull())

    for (const under of backends) {
      describe.skipIf(under.skipReason !== null)(`on ${under.kind}${because(under)}`, () => {
        const ofPython = pythonClients(join(python, 'bin', 'python3'))
        let world: GatewayWorld
        beforeAll(async () => {
          world = await openGatewayWorld(under, { nodeServers, sqliteWheels, timeWheels })
          await world.converse('talk')
          await Promise.all(Object.keys(TOOLS).map((server) => world.start(server, 'talk')))
        })
        afterAll(async () => {
          await ofPython.close()
          await world.close()
        })

        for (const client of [...TYPESCRIPT_CLIENTS, ...ofPython.clients, inspectorClient(inspector)]) {
          describe(client.name, () => walk(client, () => world))
        }
        describe('a server in the box of a conversation', () => shareAndEnd(() => world))
      })
    }
  })
}

type World = () => GatewayWorld

/** Opens a client for one piece of work, and closes it whatever comes of it. */
async function using<T>(
  world: World,
  client: PublishedMcpClient,
  server: string | null,
  work: (open: McpClient) => Promise<T>,
): Promise<T> {
  const open = await world().connect(client, server, 'talk')
  try {
    return await work(open)
  } finally {
    await open.close()
  }
}

/** What a client is told of a long operation of four steps until it is done. */
async function stepsHeard(open: McpClient, tool: string): Promise<readonly unknown[]> {
  const heard: Progress[] = []
  const done = await open.call(tool, { duration: 0.2, steps: 4 }, (progress) => void heard.push(progress))
  expect(done).toBe('Long running operation completed. Duration: 0.2 seconds, Steps: 4.')
  return heard.map(({ progress, total }) => [progress, total])
}

/** What each client does with each server. */
function walk(client: PublishedMcpClient, world: World): void {
  const mark = client.name.replaceAll(/\W+/g, '_')
  const steps = client.hearsProgress ? STEPS : []

  test.each(Object.keys(TOOLS))('sees the tools of %s as the server has them', async (server) => {
    expect((await using(world, client, server, (open) => open.tools())).toSorted()).toEqual(TOOLS[server])
  })

  test('reads with the filesystem server what exec wrote, and exec reads what that wrote', async () => {
    await world().sh('talk', `echo 'exec was here: grüße' > /workspace/${mark}.txt`)
    await using(world, client, 'filesystem', async (open) => {
      expect(await open.call('read_text_file', { path: `/workspace/${mark}.txt` })).toBe('exec was here: grüße\n')
      await open.call('write_file', { path: `/workspace/${mark}.back`, content: `${mark} was here` })
    })
    expect(await world().sh('talk', `cat /workspace/${mark}.back`)).toBe(`${mark} was here`)
  })

  test('finds in a database what it put there before, and so does exec', async () => {
    await using(world, client, 'sqlite', async (open) => {
      await open.call('create_table', { query: `CREATE TABLE ${mark} (word TEXT)` })
      await open.call('write_query', { query: `INSERT INTO ${mark} VALUES ('kept')` })
    })
    expect(await using(world, client, 'sqlite', (open) => open.call('read_query', { query: `SELECT word FROM ${mark}` }))).toBe(
      "[{'word': 'kept'}]",
    )
    const look = `import sqlite3; print(sqlite3.connect("/workspace/notes.db").execute("SELECT word FROM ${mark}").fetchall())`
    expect(await world().sh('talk', `python3 -c '${look}'`)).toBe("[('kept',)]\n")
  })

  test('asks a server of the tenant, in its own box', async () => {
    const noon = { source_timezone: 'Asia/Tokyo', time: '12:00', target_timezone: 'UTC' }
    const told = await using(world, client, 'time', (open) => open.call('convert_time', noon))
    expect(JSON.parse(told)).toMatchObject({ target: { timezone: 'UTC', datetime: expect.stringContaining('T03:00:00') } })
  })

  test('calls tools of the everything server, and hears how far a long one is', async () => {
    await using(world, client, 'everything', async (open) => {
      expect(await open.call('echo', { message: 'ünï' })).toBe('Echo: ünï')
      expect(await stepsHeard(open, 'trigger-long-running-operation')).toEqual(steps)
    })
  })

  test('reads resources and prompts of the everything server', async () => {
    await using(world, client, 'everything', async (open) => {
      expect(await open.resources()).toContain(ARCHITECTURE)
      expect(await open.read(ARCHITECTURE)).toContain('# Everything Server')
      expect(await open.prompts()).toEqual(['simple-prompt', 'args-prompt', 'completable-prompt', 'resource-prompt'])
      expect(await open.prompt('args-prompt', { city: 'Lübeck' })).toContain('Lübeck')
    })
  })

  test('sees all servers beside our own tools at /mcp, in one conversation', async () => {
    await using(world, client, null, async (open) => {
      const offered = await open.tools()
      const ofServers = Object.entries(TOOLS).flatMap(([server, tools]) => tools.map((tool) => `${server}__${tool}`))
      expect(offered).toEqual(expect.arrayContaining(['exec', 'read', 'write', ...ofServers]))
      expect(await stepsHeard(open, 'everything__trigger-long-running-operation')).toEqual(steps)
      expect(await open.call('exec', { command: `cat /workspace/${mark}.back` })).toContain(`${mark} was here`)
    })
  })
}

/** Who shares a process, and when it ends. */
function shareAndEnd(world: World): void {
  const [one, , other] = TYPESCRIPT_CLIENTS
  if (one === undefined || other === undefined) throw new Error('there are no clients')
  /** By what the box itself sees; the brackets keep the search from finding itself. */
  const running = (conversation: string) => world().sh(conversation, "pgrep -f '[s]erver-everything'")
  const pidsOf = async (server: string) => (await world().look(server)).runs.map(({ pid }) => pid)

  test('is one process for two clients, and has the environment of its configuration alone', async () => {
    const [first, second] = await Promise.all([world().connect(one, 'everything', 'talk'), world().connect(other, 'everything', 'talk')])
    const environment = await first.call('get-env')
    expect(await second.call('get-env')).toBe(environment)
    // Its box has no network, which those that fetch are told.
    const ofTheBox = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'TMPDIR', 'USER']
    const ofInstallers = ['PIP_BREAK_SYSTEM_PACKAGES', 'UV_OFFLINE', 'npm_config_globalconfig', 'npm_config_offline', 'npm_config_prefix']
    const names = Object.keys(JSON.parse(environment) as object)
    expect(names.toSorted()).toEqual(['GREETING', ...ofTheBox, ...ofInstallers].toSorted())
    expect(await running('talk')).toBe(`${(await pidsOf('everything')).join(' and ')}\n`)
    await Promise.all([first.close(), second.close()])
  })

  test('is another process in another conversation, and goes with it', async () => {
    await world().converse('other')
    const open = await world().connect(one, 'everything', 'other')
    expect(await open.call('echo', { message: 'x' })).toBe('Echo: x')
    const runs = (await world().look('everything')).runs
    expect(new Set(runs.map(({ session_id: id }) => id)).size).toBe(2)
    expect(await running('other')).toMatch(/^\d+\n$/)
    expect(await running('talk')).toMatch(/^\d+\n$/)
    await open.close()
    await world().release('other')
    await eventually(async () => (await world().look('everything')).runs.filter(({ state }) => state === 'ready')).toHaveLength(1)
  })

  test('leaves nothing running when the conversation is released and servers of the tenant are removed', async () => {
    expect(world().processes().join('\n')).toMatch(/server-filesystem[^]*server-everything|server-everything[^]*server-filesystem/)
    await world().release('talk')
    for (const server of ['time', 'mounted']) await world().remove(server)
    await eventually(() => world().processes()).toEqual([])
  })
}
