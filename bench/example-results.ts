/** Results as a run might give them, for the tests of what is made from results. */
import { judged, type Measured } from './figure.ts'
import type { Results } from './results.ts'

const WARM: Measured = {
  id: 'warm-p50',
  title: 'warm `sh -c true`, p50',
  value: 1.3,
  unit: 'ms',
  samples: 500,
  reference: { title: 'spawn on the host', value: 2.6 },
  bar: { of: 'ratio', at: 'most', limit: 0.7 },
}
const IDLE: Measured = {
  id: 'idle-guest',
  title: 'idle guest <resident>',
  value: 1.5,
  unit: 'MB',
  samples: 5,
  reference: null,
  bar: { of: 'value', at: 'most', limit: 1 },
}
const EXTRA: Measured = { ...WARM, id: 'warm-p95-p95', title: 'p95 against p95', bar: null }

export const EXAMPLE_RESULTS: Results = {
  version: 1,
  date: '2026-01-02T03:04:05.000Z',
  isQuick: false,
  machine: { cores: 2, processor: 'Example', memoryGigabytes: 8, kernel: '6.1.0', node: 'v24.0.0', loadBefore: 0.1 },
  backends: [
    { kind: 'docker', version: '20.10', missingLimits: [] },
    { kind: 'bubblewrap', version: '0.11', missingLimits: ['cpus'] },
    { kind: 'podman', skipReason: 'podman not installed' },
  ],
  figures: [
    judged('docker', WARM),
    judged('docker', IDLE),
    judged('docker', EXTRA),
    judged('bubblewrap', { ...WARM, value: 1.17 }),
    judged('bubblewrap', { ...IDLE, value: 0.7 }),
  ],
}
