/** What LangBot's Box client waits for: a command over its WebSocket, and lines to and from a process over the relay. */
import { boxClient } from '../box-client.ts'
import type { BoxClient } from '../box-client.ts'
import type { Measured } from '../figure.ts'
import type { Ground } from '../ground.ts'
import { interleave, timed } from '../interleave.ts'
import type { Measure } from '../measure.ts'
import { echoOnHost, megabytesPerSecond, pipeRate, spawnOnHost } from '../reference.ts'
import { withServer } from '../server-process.ts'
import { median, quantile } from '../statistics.ts'

const SETTINGS = { HOLDFAST_BOX_ENABLED: 'true', HOLDFAST_LIMITS_CPUS: 'none' }
/** All that LangBot's client always sends. */
const SPEC = {
  ...{ session_id: 'bench', cmd: 'true', workdir: '/workspace', timeout_sec: 30, network: 'off', env: {}, image: 'python:3.11-slim' },
  ...{ host_path: null, host_path_mode: 'rw', mount_path: '/workspace', extra_mounts: [], skill_name: null, persistent: false },
  ...{ cpus: 1, memory_mb: 512, pids_limit: 128, read_only_rootfs: true, workspace_quota_mb: 0 },
}
const COMMAND = ['sh', '-c', 'true'] as const
const LINE = Buffer.alloc(99, 'x')
const MEBIBYTE = 1_048_576
const LONG_LINES = 64
/** Three times what the original carries: 63 MB/s on the machine of the published table. */
const LONG_LINES_BAR = 189

export const box: Measure = {
  name: 'box',
  doing: 'box_exec over a WebSocket, and lines over the relay',
  run: (ground) =>
    withServer(ground.place, { settings: SETTINGS }, async (server) => {
      const client = await boxClient(server)
      try {
        await client.call('box_exec', SPEC)
        return [...(await commands(ground, client)), await lines(ground, client), await longLines(ground, client)]
      } finally {
        await client.call('box_shutdown', {})
        client.close()
      }
    }),
}

async function commands(ground: Ground, client: BoxClient): Promise<readonly Measured[]> {
  const { reference: host, subject } = await interleave(
    { runs: ground.pick({ full: 1_000, quick: 60 }), blockRuns: 20 },
    () => timed(() => spawnOnHost(COMMAND)),
    () => timed(() => client.call('box_exec', SPEC)),
  )
  const reference = { title: 'spawn on the host, p50', value: median(host) }
  const common = { unit: 'ms', samples: subject.length, reference } as const
  return [
    { ...common, id: 'box-exec-p50', title: '`box_exec` of `true`, p50', value: median(subject), bar: atMost(1.1) },
    { ...common, id: 'box-exec-p95', title: '`box_exec` of `true`, p95', value: quantile(subject, 0.95), bar: null },
  ]
}

async function lines(ground: Ground, client: BoxClient): Promise<Measured> {
  await start(client, 'echo', 'exec cat')
  const host = echoOnHost()
  const relay = await client.attach(SPEC.session_id, 'echo')
  const hostLine = Buffer.concat([LINE, Buffer.from('\n')])
  const samples = await interleave(
    { runs: ground.pick({ full: 4_000, quick: 400 }), blockRuns: 100 },
    () => timed(() => host.roundTrip(hostLine)),
    () => timed(() => relay.roundTrip(LINE)),
  )
  await Promise.all([host.close(), relay.close()])
  return {
    ...{ id: 'box-relay-p50', title: '100-byte line over the Box relay and back, p50', value: median(samples.subject), unit: 'ms' },
    samples: samples.subject.length,
    reference: { title: 'two pipes on the host', value: median(samples.reference) },
    bar: atMost(15),
  }
}

async function longLines(ground: Ground, client: BoxClient): Promise<Measured> {
  const line = `head -c ${MEBIBYTE - 1} /dev/zero | tr '\\0' x; echo`
  await client.call('box_exec', { ...SPEC, cmd: `for n in $(seq ${LONG_LINES}); do ${line}; done > lines` })
  await start(client, 'long', 'while read -r line; do cat lines; done')
  const relay = await client.attach(SPEC.session_id, 'long')
  const bytes = LONG_LINES * MEBIBYTE
  const samples = await interleave(
    { runs: ground.pick({ full: 20, quick: 3 }), blockRuns: 2 },
    () => pipeRate(bytes),
    async () => megabytesPerSecond(bytes, await timed(() => relay.exchange(LINE, bytes))),
  )
  await relay.close()
  return {
    ...{ id: 'box-relay-lines', title: '1 MiB lines over the Box relay', value: median(samples.subject), unit: 'MB/s' },
    samples: samples.subject.length,
    reference: { title: 'a pipe on the host', value: median(samples.reference) },
    bar: { of: 'value', at: 'least', limit: LONG_LINES_BAR },
  }
}

async function start(client: BoxClient, processId: string, script: string): Promise<void> {
  const spec = { process_id: processId, command: 'sh', args: ['-c', script] }
  await client.call('box_start_managed_process', { session_id: SPEC.session_id, spec })
}

function atMost(limit: number) {
  return { of: 'ratio', at: 'most', limit } as const
}
