/**
 * Orders to one execution: signal it, kill its whole tree, resize its terminal.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { HoldfastError } from '@holdfast/protocol'
import type { Channel } from './channel.ts'
import { FrameType } from './codec.ts'
import { Tag } from './fields.ts'
import type { Field } from './fields.ts'
import type { ExecutionKey, KillReport, TerminalSize } from './inside.ts'
import { ask } from './request.ts'
import { requireCount, requireTag, requireTerminalSize, requireUid } from './require.ts'
import { signalNumber } from './signals.ts'

export function keyField(key: ExecutionKey): Field {
  if ('id' in key) return [Tag.ID, key.id]
  requireTag(key.tag)
  return [Tag.TAG, key.tag]
}

export async function signalExecution(
  channel: Channel,
  key: ExecutionKey,
  signal: NodeJS.Signals | number,
  scope: 'main' | 'tree' = 'main',
): Promise<void> {
  const fields: Field[] = [keyField(key), [Tag.SIGNO, signalNumber(signal)], [Tag.TREE, scope === 'tree' ? 1 : 0]]
  await ask(channel, { type: FrameType.SIGNAL, fields, maxReplies: 0 })
}

export async function killExecution(channel: Channel, key: ExecutionKey, graceMs = 0): Promise<KillReport> {
  return kill(channel, keyField(key), graceMs)
}

export async function killUser(channel: Channel, uid: number, graceMs = 0): Promise<KillReport> {
  requireUid(uid)
  return kill(channel, [Tag.UID, uid], graceMs)
}

async function kill(channel: Channel, whom: Field, graceMs: number): Promise<KillReport> {
  requireCount('graceMs', graceMs)
  const reports: KillReport[] = []
  await ask(channel, {
    type: FrameType.KILL,
    fields: [whom, [Tag.GRACE_MS, graceMs]],
    maxReplies: 1,
    extraTimeMs: graceMs,
    onReply: (fields) => reports.push({ killed: fields.requiredNumber(Tag.KILLED), verified: fields.requiredNumber(Tag.VERIFIED) === 1 }),
  })
  const [report] = reports
  // Without a report nothing is proved, so the channel's word is not taken for it.
  if (!report) throw new HoldfastError('guest_protocol_violated', 'the guest ended KILL without a report')
  return report
}

export async function resizeTerminal(channel: Channel, id: bigint, size: TerminalSize): Promise<void> {
  requireTerminalSize(size)
  const fields: Field[] = [
    [Tag.ID, id],
    [Tag.COLS, size.cols],
    [Tag.ROWS, size.rows],
  ]
  await ask(channel, { type: FrameType.RESIZE, fields, maxReplies: 0 })
}
