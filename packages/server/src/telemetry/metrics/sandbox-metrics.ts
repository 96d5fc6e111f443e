/**
 * Sandboxes: how long they took to make, and how their health checks went.
 *
 * Stands beside the flow. The checks count into plain numbers, which are read when somebody asks.
 */
import { Counter, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { BackendKind } from '../../sandboxes/backend.ts'
import { healthCounts } from '../../sandboxes/health.ts'
import type { HealthCounts } from '../../sandboxes/health.ts'
import type { SandboxObserver } from '../observations.ts'
import { LATENCY_SECONDS } from './buckets.ts'

const HEALTH: Readonly<Record<keyof HealthCounts, readonly [name: string, help: string]>> = {
  checks: ['holdfast_health_checks_total', 'Questions whether a sandbox still answers.'],
  skipped: ['holdfast_health_checks_skipped_total', 'Those that needed no ping, because the sandbox had been heard lately.'],
  failures: ['holdfast_health_check_failures_total', 'Pings without an answer.'],
  reconnects: ['holdfast_sandbox_reconnects_total', 'Lost connections to a sandbox that were made again.'],
}

export function sandboxMetrics(registry: Registry): SandboxObserver {
  const made = new Histogram({
    name: 'holdfast_sandbox_start_duration_seconds',
    help: 'The making of a sandbox, until its inside answers; unwanted: given up because nobody needed it any more.',
    labelNames: ['backend', 'outcome'],
    buckets: LATENCY_SECONDS,
    registers: [registry],
  })
  const health = new Map<BackendKind, HealthCounts>()
  for (const count of ['checks', 'skipped', 'failures', 'reconnects'] as const) {
    const [name, help] = HEALTH[count]
    const counter: Counter<'backend'> = new Counter({
      ...{ name, help, labelNames: ['backend'], registers: [registry] },
      collect() {
        counter.reset()
        for (const [backend, counts] of health) counter.inc({ backend }, counts[count])
      },
    })
  }
  return {
    healthOf(backend) {
      const known = health.get(backend)
      if (known !== undefined) return known
      const counts = healthCounts()
      health.set(backend, counts)
      return counts
    },
    sandboxMade: (backend, outcome, seconds) => made.labels(backend, outcome).observe(seconds),
  }
}
