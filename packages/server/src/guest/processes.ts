/**
 * The executions of a sandbox: list, attach again, signal, kill the whole tree, forget.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import type { Channel } from './channel.ts'
import { FrameType } from './codec.ts'
import { attach } from './exec.ts'
import { Tag } from './fields.ts'
import type { Fields } from './fields.ts'
import { guestText } from './guest-text.ts'
import type { Processes, ProcessInfo } from './inside.ts'
import { keyField, killExecution, killUser, signalExecution } from './orders.ts'
import { ask } from './request.ts'
import { violated } from './violation.ts'

/** The guest keeps at most 512. */
const MAX_LISTED = 1_024
const STATES = ['running', 'lingering', 'ended'] as const

export function guestProcesses(channel: Channel): Processes {
  return {
    list: () => listProcesses(channel),
    attach: async (key, options) => attach(channel, keyField(key), options?.after ?? 0),
    signal: (key, signal, scope) => signalExecution(channel, key, signal, scope),
    kill: (key, graceMs) => killExecution(channel, key, graceMs),
    killUser: (uid, graceMs) => killUser(channel, uid, graceMs),
    forget: (id) => channel.forget(id),
  }
}

async function listProcesses(channel: Channel): Promise<readonly ProcessInfo[]> {
  const processes: ProcessInfo[] = []
  await ask(channel, {
    type: FrameType.LIST,
    fields: [],
    maxReplies: MAX_LISTED,
    onReply: (fields) => processes.push(parseProcess(fields)),
  })
  return processes
}

function parseProcess(fields: Fields): ProcessInfo {
  const stateNumber = fields.requiredNumber(Tag.STATE)
  const state = STATES[stateNumber]
  if (!state) throw violated(`an execution is in the unknown state ${stateNumber}`)
  return {
    id: fields.requiredBigint(Tag.ID),
    tag: fields.text(Tag.TAG) || null,
    pid: fields.requiredNumber(Tag.PID),
    uid: fields.number(Tag.UID) ?? null,
    name: guestText(fields.text(Tag.NAME) ?? ''),
    state,
    seq: fields.requiredNumber(Tag.SEQ),
    ageMs: fields.requiredNumber(Tag.USEC) / 1_000,
  }
}
