/**
 * Calls about the sessions of one workspace, and about the processes that run on in them.
 */
import {
  BoxError,
  BoxExecutionResult,
  BoxManagedProcessInfo,
  BoxManagedProcessSpec,
  BoxSessionDetail,
  BoxSessionInfo,
  BoxSpec,
  DEFAULT_PROCESS_ID,
} from '@holdfast/protocol/box'
import type { BoxContext } from '@holdfast/protocol/box'
import { z } from 'zod'
import { checked } from '../checked.ts'
import type { Ask, AskOptions } from './ask.ts'

type Fill<T> = { readonly [Field in keyof T]?: T[Field] | undefined }

/** What must be said of a session; all else has a default. */
export type BoxSpecInput = { readonly session_id: string } & Fill<Omit<BoxSpec, 'session_id'>>
export type BoxManagedProcessSpecInput = { readonly command: string } & Fill<Omit<BoxManagedProcessSpec, 'command'>>

/** Whether a server of 0.7.13 or later refused the field; the request was not carried out. */
function isSkillNameRefused(error: unknown): boolean {
  return error instanceof BoxError && error.boxClass === 'BoxValidationError' && error.message.includes('skill_name')
}

/**
 * Sends all fields, so that servers with other defaults do the same. `skill_name: null` marks a client before 0.7.13, for which a session with
 * other mounts is made again; servers that refuse the field are sent none from then on.
 */
function specSender() {
  let takesSkillName = true
  return async <T>(input: BoxSpecInput, send: (spec: BoxSpec) => Promise<T>): Promise<T> => {
    const { skill_name: skill = null, ...spec } = checked(BoxSpec, input)
    if (skill === null && !takesSkillName) return send(spec)
    try {
      return await send({ ...spec, skill_name: skill })
    } catch (error) {
      if (skill !== null || !isSkillNameRefused(error)) throw error
      takesSkillName = false
      return send(spec)
    }
  }
}

/** For the answer to come back after the command's own time is over. */
const GRACE_SECONDS = 15

export function sessionCalls(ask: Ask) {
  const withSpec = specSender()
  return {
    exec: (context: BoxContext, input: BoxSpecInput, options?: AskOptions) =>
      withSpec(input, (spec) =>
        ask('box_exec', BoxExecutionResult, spec, context, { ...options, leastMs: (spec.timeout_sec + GRACE_SECONDS) * 1000 }),
      ),
    createSession: (context: BoxContext, input: BoxSpecInput, options?: AskOptions) =>
      withSpec(input, (spec) => ask('box_create_session', BoxSessionInfo, spec, context, options)),
    getSession: (context: BoxContext, sessionId: string, options?: AskOptions) =>
      ask('box_get_session', BoxSessionDetail, { session_id: sessionId }, context, options),
    async getSessions(context: BoxContext, options?: AskOptions): Promise<readonly BoxSessionInfo[]> {
      return (await ask('box_get_sessions', z.object({ sessions: z.array(BoxSessionInfo) }), {}, context, options)).sessions
    },
    deleteSession: (context: BoxContext, sessionId: string, options?: AskOptions) =>
      ask('box_delete_session', z.object({ deleted: z.string() }), { session_id: sessionId }, context, options),
    startProcess: async (context: BoxContext, sessionId: string, spec: BoxManagedProcessSpecInput, options?: AskOptions) =>
      ask(
        'box_start_managed_process',
        BoxManagedProcessInfo,
        { session_id: sessionId, spec: checked(BoxManagedProcessSpec, spec, 'spec') },
        context,
        options,
      ),
    getProcess: (context: BoxContext, sessionId: string, processId = DEFAULT_PROCESS_ID, options?: AskOptions) =>
      ask('box_get_managed_process', BoxManagedProcessInfo, { session_id: sessionId, process_id: processId }, context, options),
    stopProcess: (context: BoxContext, sessionId: string, processId = DEFAULT_PROCESS_ID, options?: AskOptions) =>
      ask(
        'box_stop_managed_process',
        z.object({ stopped: z.string() }),
        { session_id: sessionId, process_id: processId },
        context,
        options,
      ),
  }
}
