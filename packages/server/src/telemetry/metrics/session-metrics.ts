/**
 * Sessions and executions: what became of them since this server started.
 *
 * Stands beside the flow. Every label has a few values that are known here, and each begins at zero.
 */
import { CLOSE_REASONS, EXECUTION_STATUSES, SUSPEND_REASONS } from '@holdfast/protocol'
import { Counter, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { SessionObserver } from '../observations.ts'
import { LATENCY_SECONDS, RUN_SECONDS } from './buckets.ts'
import { countedBy } from './counted-by.ts'

export function sessionMetrics(registry: Registry): SessionObserver {
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  const created = counter('holdfast_sessions_created_total', 'Sessions that were created.')
  const found = counter('holdfast_sessions_found_total', 'Sessions that were asked for by their key and were open already.')
  const closed = countedBy(registry, CLOSE_REASONS, {
    name: 'holdfast_sessions_closed_total',
    help: 'Sessions that ended, by the reason.',
    label: 'reason',
  })
  const suspended = countedBy(registry, SUSPEND_REASONS, {
    name: 'holdfast_sessions_suspended_total',
    help: 'Sessions that gave up their sandbox and kept their workspace, by the reason.',
    label: 'reason',
  })
  const resumed = counter('holdfast_sessions_resumed_total', 'Suspended sessions that got a sandbox again.')
  const refused = counter(
    'holdfast_places_refused_total',
    'Requests for a sandbox that were refused because all places were taken: raise sessions.max, or set quotas.running.',
  )
  const lost = counter('holdfast_sessions_lost_total', 'Sessions whose sandbox was gone without anybody having asked for it.')
  const rebound = counter('holdfast_sessions_rebound_total', 'Sessions that got a sandbox again after they had lost one.')
  const begun = countedBy(registry, ['command', 'process'], {
    name: 'holdfast_executions_started_total',
    help: 'Executions that were begun; a process is one with a name.',
    label: 'kind',
  })
  const ended = countedBy(
    registry,
    EXECUTION_STATUSES.filter((status) => status !== 'running'),
    { name: 'holdfast_executions_ended_total', help: 'Executions that are over, by how they ended.', label: 'status' },
  )
  const ran = new Histogram({
    name: 'holdfast_execution_duration_seconds',
    help: 'From the start of a program to its end.',
    buckets: RUN_SECONDS,
    registers,
  })
  const started = new Histogram({
    name: 'holdfast_execution_start_duration_seconds',
    help: 'From the request for an execution to its running program, with everything that had to be made for it.',
    buckets: LATENCY_SECONDS,
    registers,
  })
  const printed = counter('holdfast_execution_output_bytes_total', 'Bytes that programs printed and this server read.')

  return {
    sessionCreated: () => created.inc(),
    sessionFound: () => found.inc(),
    sessionClosed: closed,
    sessionSuspended(reason) {
      suspended(reason)
      if (reason === 'sandbox_lost' || reason === 'tcp_limit') lost.inc()
    },
    sessionResumed: () => resumed.inc(),
    placeRefused: () => refused.inc(),
    sessionRebound: () => rebound.inc(),
    executionBegun: begun,
    executionStarted: (seconds) => started.observe(seconds),
    executionEnded(status, seconds) {
      if (status !== 'running') ended(status)
      if (seconds !== null) ran.observe(seconds)
    },
    outputPrinted: (bytes) => printed.inc(bytes),
  }
}
