/**
 * Sessions as people see them.
 */
import type { SessionRecord } from '@holdfast/sdk'
import type { Column } from './table.ts'
import type { Tint } from './tint.ts'
import { assignments, momentWords, sizeWords } from './words.ts'

export function sessionColumns(now: number): readonly Column<SessionRecord>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'KEY', of: ({ key }) => key, isFlexible: true },
    { title: 'STATE', of: stateWords, tint: tintOf },
    { title: 'OWNER', of: ({ owner }) => owner, isFlexible: true },
    { title: 'RUNS', of: ({ running }) => String(running) },
    { title: 'CREATED', of: ({ createdAt }) => momentWords(createdAt, now) },
    { title: 'ENDS', of: (record) => (record.closedAt === null ? momentWords(record.expiresAt, now) : momentWords(record.closedAt, now)) },
  ]
}

export function sessionRows(record: SessionRecord, now: number): readonly (readonly [string, string])[] {
  const { limits } = record
  const moment = (time: string | null) => (time === null ? '-' : `${time} (${momentWords(time, now)})`)
  const rows: readonly (readonly [string, string | null])[] = [
    ['id', record.id],
    ['key', record.key],
    ['scope', record.scope],
    ['state', stateWords(record)],
    ['owner', record.ownerGroup === null ? record.owner : `${record.owner}, group ${record.ownerGroup}`],
    ['failure', record.failure === null ? null : record.failure.message],
    [
      'held',
      record.held === null ? null : `by ${record.held.by ?? 'nobody known'}${record.held.reason === null ? '' : `: ${record.held.reason}`}`,
    ],
    [
      'transfer',
      record.pendingTransfer === null
        ? null
        : `to ${record.pendingTransfer.owner}, asked by ${record.pendingTransfer.by}: waits for its owner`,
    ],
    ['labels', assignments(record.labels) || null],
    ['metadata', assignments(record.metadata) || null],
    ['runs', String(record.running)],
    ['sandbox', record.sandboxId],
    ['incarnation', `${record.incarnation}, workspace ${record.workspace}`],
    ['notice', record.notice],
    ['profile', record.profile],
    ['pipeline', record.pipeline],
    ['image', record.image],
    ['network', record.network],
    ['home', record.home === 'ephemeral' ? 'ephemeral' : null],
    ['root', record.rootfs === 'writable' ? 'writable' : null],
    ['user', record.user === 'root' ? 'root' : null],
    ['workspace', workspaceWords(record)],
    ['mounts', record.mounts.map(({ source, target, mode }) => `${source} at ${target} (${mode})`).join(', ') || null],
    [
      'limits',
      [
        `cpus ${limits.cpus ?? 'none'}`,
        `memory ${limits.memoryBytes === null ? 'none' : sizeWords(limits.memoryBytes)}`,
        `processes ${limits.pids ?? 'none'}`,
        ...(limits.workspaceBytes === null ? [] : [`workspace ${sizeWords(limits.workspaceBytes)}`]),
      ].join(', '),
    ],
    ['pack', record.pack],
    ['created', `${moment(record.createdAt)} by ${record.createdBy}`],
    ['active', moment(record.activityAt)],
    ['ends', record.closedAt === null ? endWords(record, moment) : null],
    [
      'ended',
      record.closedAt === null ? null : `${moment(record.closedAt)}${record.closeDetail === null ? '' : `, ${record.closeDetail}`}`,
    ],
    ['version', String(record.version)],
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]))
}

/** `null` for a directory of its own that it may write, as most have. */
function workspaceWords({ workspaceMount: { source, mode, target } }: SessionRecord): string | null {
  if (source === null) return mode === 'ro' ? 'its own (ro)' : null
  return mode === 'none' ? 'its own' : `${source} at ${target} (${mode})`
}

function endWords({ expiresAt, expiresReason, onIdle }: SessionRecord, moment: (time: string | null) => string): string {
  if (expiresAt === null) return 'never'
  return `${moment(expiresAt)}${expiresReason === null ? '' : `, ${expiresReason}`}${expiresReason === 'idle' ? `: ${onIdle}` : ''}`
}

function stateWords({ state, held, suspendReason, pendingReason }: SessionRecord): string {
  if (held !== null) return `${state}, held`
  if (state === 'suspended' && suspendReason !== null && suspendReason !== 'idle') return `${state}, ${suspendReason}`
  return state === 'pending' && pendingReason !== null && pendingReason !== 'create' ? `${state}, ${pendingReason}` : state
}

function tintOf({ state, held }: SessionRecord): Tint {
  if (held !== null || state === 'failed') return 'red'
  if (state === 'active' || state === 'idle') return 'green'
  return state === 'pending' || state === 'closing' ? 'yellow' : 'dim'
}
