/**
 * What a model may know and do about its own session as a whole: look at it, and begin anew.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * They take nothing, so there is nothing by which a model could mean another session.
 */
import { fieldProblems, problemSentence } from '@holdfast/protocol'
import { z } from 'zod'
import type { SessionReads } from '../../../sessions/session-reads.ts'
import type { Steering } from '../../../sessions/steering.ts'
import { sessionRecord } from '../../rest/session-record.ts'
import type { SessionIdOf } from './conversation-session.ts'
import { toldResult } from './tool-offer.ts'
import type { ToolOffer, ToolVisit } from './tool-offer.ts'

const NoInput = z.strictObject({})
const inputSchema = { type: 'object' as const, properties: {}, additionalProperties: false }

export interface SessionToolsNeeds {
  readonly reads: Pick<SessionReads, 'open'>
  readonly steering: Pick<Steering, 'release'>
  readonly sessionIdOf: SessionIdOf
}

export function sessionTools({ reads, steering, sessionIdOf }: SessionToolsNeeds): ToolOffer {
  async function status(visit: ToolVisit, signal: AbortSignal): Promise<object> {
    const row = await reads.open(visit.caller, 'read', await sessionIdOf(visit, signal))
    const { id, state, incarnation, workspace, notice, running, expires_at, expires_reason } = sessionRecord(row)
    return { ok: true, session_id: id, state, incarnation, workspace, notice, running, expires_at, expires_reason }
  }

  async function reset(visit: ToolVisit, signal: AbortSignal): Promise<object> {
    // Its id names nothing once it has ended, and every later call would fail.
    if (visit.conversation.session_id !== undefined)
      return { ok: false, error: 'this conversation is bound to one session by its id, and only its host can end that' }
    const { id } = await steering.release(visit.caller, await sessionIdOf(visit, signal), { ifBusy: 'kill' })
    return { ok: true, ended_session_id: id }
  }

  const work = new Map([
    ['session_status', status],
    ['session_reset', reset],
  ])
  async function checked(run: typeof status, visit: ToolVisit, input: unknown, signal: AbortSignal) {
    const parsed = NoInput.safeParse(input)
    if (!parsed.success) return toldResult({ ok: false, error: problemSentence(fieldProblems(parsed.error)) })
    return toldResult(await run(visit, signal))
  }
  return {
    list: async () => DEFINITIONS,
    call(visit, name, input, { signal }) {
      const run = work.get(name)
      return run === undefined ? null : checked(run, visit, input, signal)
    },
  }
}

const DEFINITIONS = [
  {
    name: 'session_status',
    description: 'Tell the state of your sandbox session: whether it runs, what became of its files, and until when it is kept.',
    inputSchema,
    annotations: { readOnlyHint: true },
  },
  {
    name: 'session_reset',
    description:
      'End your sandbox session with everything that runs in it and, unless they are kept elsewhere, its files. The next call begins a new one.',
    inputSchema,
    annotations: { destructiveHint: true },
  },
]
