/**
 * Calls about the sessions of one workspace, and about the processes that run on in them.
 */
import {
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

/** All fields, so that servers with other defaults do the same; without a skill's name, which newer ones no longer take. */
function wireSpec(input: BoxSpecInput): Omit<BoxSpec, 'skill_name'> {
  const { skill_name: skill, ...spec } = checked(BoxSpec, input)
  return skill === null ? spec : { ...spec, ...{ skill_name: skill } }
}

/** For the answer to come back after the command's own time is over. */
const GRACE_SECONDS = 15

export function sessionCalls(ask: Ask) {
  return {
    exec: async (context: BoxContext, input: BoxSpecInput, options?: AskOptions) => {
      const spec = wireSpec(input)
      return ask('box_exec', BoxExecutionResult, spec, context, { ...options, leastMs: (spec.timeout_sec + GRACE_SECONDS) * 1000 })
    },
    createSession: async (context: BoxContext, spec: BoxSpecInput, options?: AskOptions) =>
      ask('box_create_session', BoxSessionInfo, wireSpec(spec), context, options),
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
