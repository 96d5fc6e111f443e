/**
 * What a user of an MCP server waits for when it lives in a box: a call of a trivial tool, many callers at once, and its start; each against
 * the same program on the host, over a pipe. Single calls are made by clients that do as little as Node allows, so that what is measured is
 * the way to the server; the rest by the official client.
 */
import { withBareHttp } from '../bare-http.ts'
import type { Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import { interleave, timed } from '../interleave.ts'
import { officialOnHost, officialThroughGateway, plainOnHost, plainThroughGateway } from '../mcp-client.ts'
import type { McpAddress, McpClient } from '../mcp-client.ts'
import { withMcpServer } from '../mcp-ground.ts'
import type { McpGround } from '../mcp-ground.ts'
import { nodeProgram, pythonProgram } from '../mcp-program.ts'
import type { McpProgram } from '../mcp-program.ts'
import type { Measure } from '../measure.ts'
import { median, quantile } from '../statistics.ts'

const CLIENTS = 50
const CALLS = 1_000
const BAR = { of: 'ratio', at: 'most', limit: 3 } as const
/** A server that runs for long has had them: the engine compiles what is called often, and goes on with that for about so many calls. */
const WARM_UP_CALLS = { full: 10_000, quick: 300 }

export const mcp: Measure = {
  name: 'mcp',
  doing: 'tools/call through the gateway, by one and by fifty clients, and the start of a server',
  run: async (ground) => [
    ...(await ofPython(ground)),
    ...(await withMcpServer(ground.place, { make: nodeProgram('mcp-echo.ts') }, async (server) => [
      ...(await ofNode(ground, server)),
      await httpAlone(ground, server),
      await manyClients(ground, server),
      await start(ground, server),
    ])),
  ],
}

/** Its call takes about a millisecond by itself. */
async function ofPython(ground: Ground): Promise<readonly Measured[]> {
  const python = await pythonProgram()
  if ('skipReason' in python) {
    process.stderr.write(`No figures of a Python server: ${python.skipReason}\n`)
    return []
  }
  return withMcpServer(ground.place, python, async ({ program, address }) => {
    const { subject, common } = await againstPipe(ground, program, address)
    const [id, title] = ['mcp-call-python', '`tools/call` of a Python MCP server through the gateway']
    return [
      { ...common, id: `${id}-p50`, title: `${title}, p50`, value: median(subject), bar: BAR },
      { ...common, id: `${id}-p95`, title: `${title}, p95`, value: quantile(subject, 0.95), bar: null },
    ]
  })
}

/** Its call takes less than a request over HTTP by itself, see below, so here the way to it is all there is. */
async function ofNode(ground: Ground, { program, address }: McpGround): Promise<readonly Measured[]> {
  const { subject, common } = await againstPipe(ground, program, address)
  const [id, title] = ['mcp-call-node', '`tools/call` of a Node MCP server through the gateway']
  return [
    { ...common, id: `${id}-p50`, title: `${title}, p50`, value: median(subject), bar: BAR },
    { ...common, id: `${id}-p95`, title: `${title}, p95`, value: quantile(subject, 0.95), bar: null },
  ]
}

/** What the same client pays for HTTP alone, so that it can be told from what the gateway and the box cost. */
async function httpAlone(ground: Ground, { program }: McpGround): Promise<Measured> {
  const { subject, common } = await withBareHttp((address) => againstPipe(ground, program, address))
  return {
    ...common,
    id: 'mcp-http-alone',
    title: '`tools/call` over HTTP, answered at once without gateway and box, p50',
    value: median(subject),
    bar: null,
  }
}

async function againstPipe(ground: Ground, program: McpProgram, address: McpAddress) {
  const [host, subject] = [await plainOnHost(program), await plainThroughGateway(address)]
  for (let call = 0; call < ground.pick(WARM_UP_CALLS); call += 1) await Promise.all([host.echo('hello'), subject.echo('hello')])
  const samples = await interleave(
    { runs: ground.pick({ full: 4_000, quick: 200 }), blockRuns: 100 },
    () => timed(() => host.echo('hello')),
    () => timed(() => subject.echo('hello')),
  )
  await Promise.all([host.close(), subject.close()])
  const reference = { title: 'over a pipe on the host, p50', value: median(samples.reference) }
  return { subject: samples.subject, common: { unit: 'ms', samples: samples.subject.length, reference } as const }
}

/** A call that fails ends the benchmark. */
async function manyClients(ground: Ground, { program, address }: McpGround): Promise<Measured> {
  const host = await officialOnHost(program)
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => officialThroughGateway(address)))
  const samples = await interleave(
    { runs: ground.pick({ full: 12, quick: 2 }), blockRuns: 1 },
    () => callsPerSecond(clients.map(() => host)),
    () => callsPerSecond(clients),
  )
  await Promise.all([host, ...clients].map((client) => client.close()))
  return {
    ...{ id: 'mcp-many-clients', title: '1,000 `tools/call` of 50 MCP clients', value: median(samples.subject), unit: 'calls/s' },
    samples: samples.subject.length,
    reference: { title: '50 at a time over one pipe on the host', value: median(samples.reference) },
    bar: null,
  }
}

async function callsPerSecond(callers: readonly McpClient[]): Promise<number> {
  const took = await timed(() =>
    Promise.all(
      callers.map(async (caller, who) => {
        for (let call = 0; call < CALLS / callers.length; call += 1) await caller.echo(`${who}/${call}`)
      }),
    ),
  )
  return (CALLS * 1_000) / took
}

/** Its session is there with all that was copied; its process is not. */
async function start(ground: Ground, { program, address, stop }: McpGround): Promise<Measured> {
  const untilTools = async (open: () => Promise<McpClient>) => {
    const startedAt = performance.now()
    const client = await open()
    await client.listTools()
    const took = performance.now() - startedAt
    await client.close()
    return took
  }
  const samples = await interleave(
    { runs: ground.pick({ full: 20, quick: 3 }), blockRuns: 1 },
    () => untilTools(() => officialOnHost(program)),
    async () => {
      await stop()
      return untilTools(() => officialThroughGateway(address))
    },
  )
  return {
    ...{ id: 'mcp-start', title: 'start of an MCP server to its first `tools/list`, p50', value: median(samples.subject), unit: 'ms' },
    samples: samples.subject.length,
    reference: { title: 'spawned on the host, p50', value: median(samples.reference) },
    bar: null,
  }
}
