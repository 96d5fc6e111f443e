/**
 * `/v1/tools`: what a model is offered, and its calls.
 *
 * [ingress] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * One row for each tool, because they need different rights. A call that the model got wrong is answered with 200 and `ok: false`: the
 * host hands it back to the model as it is. As a stream of events it also tells the lines that a command prints.
 */
import { PREVIEW_TTL_SECONDS, TOOL_NAMES, TOOL_SHAPES, ToolCallBody, ToolFailure, ToolList, ToolsQuery } from '@holdfast/protocol'
import type { ToolName, ToolProgressEvent } from '@holdfast/protocol'
import { z } from 'zod'
import { authorize } from '../../access/authorize.ts'
import type { GetOrCreate } from '../../sessions/getting.ts'
import { openAiTool } from '../../tools/definitions.ts'
import { TOOL_VERBS } from '../../tools/tool.ts'
import { outputProgress } from '../../tools/output-progress.ts'
import type { Tools } from '../../tools/tools.ts'
import type { MakePreview } from '../preview/make-preview.ts'
import { auditedBy } from './audited-by.ts'
import { START_ERRORS } from './commands.ts'
import { followedStream, wantsEvents } from './event-stream.ts'
import { json, route } from './route.ts'
import type { Call, Nothing, Route } from './route.ts'
import { CREATE_ERRORS, keyOf, wishOf } from './session-requests.ts'
import type { KeyNeeds } from './session-requests.ts'

export interface ToolRoutesNeeds extends KeyNeeds {
  readonly tools: Tools
  readonly getOrCreate: GetOrCreate
  readonly makePreview: MakePreview
}

export function toolRoutes({ tools, getOrCreate, makePreview, ...needs }: ToolRoutesNeeds): readonly Route[] {
  async function sessionIdOf({ caller, body, signal }: ToolRouteCall): Promise<string> {
    const { session_id: id, session: key, scope, variables, missing, pipeline } = body
    if (id !== undefined) return id
    const request = { key: await keyOf({ key, scope, variables, missing, pipeline }, needs, caller), wish: wishOf(body) }
    return (await getOrCreate(caller, request, signal)).session.id
  }

  const callOf = (name: ToolName) =>
    route({
      method: 'POST',
      path: `/v1/tools/${name}`,
      summary: WORDS[name].summary,
      authorization: TOOL_VERBS[name],
      body: ToolCallBody.describe(`A session, and the input of ${name}`),
      answers: { 200: json(WORDS[name].result, resultOf(name), 'What the model is to be told', 'progress, then result or error') },
      errors: [...CREATE_ERRORS, ...START_ERRORS],
      async handle(call) {
        const sessionId = await sessionIdOf(call)
        const context = {
          sessionId,
          showsImages: call.body.images,
          previewLink: (port: number) => makePreview(call, sessionId, { port, ttlSeconds: PREVIEW_TTL_SECONDS }),
          requireSkillWriter() {
            authorize(call.principal, 'manage-skills')
            return auditedBy(call)
          },
        }
        const { input = {} } = call.body
        if (!wantsEvents(call)) {
          const body = await tools.call(call.caller, context, name, input, call.signal)
          // For the host, which does not hand headers to the model.
          return { status: 200, body, headers: { 'holdfast-session': sessionId } }
        }
        // Refused like everywhere else, as long as nothing has begun.
        await tools.check(call.caller, name, context.sessionId)
        return followedStream(call, async (stream, signal) => {
          const onOutput = outputProgress((_, text) => stream.send({ event: 'progress', data: { text } satisfies ToolProgressEvent }))
          await stream.send({ event: 'result', data: await tools.call(call.caller, { ...context, onOutput }, name, input, signal) })
        })
      },
    })

  return [
    route({
      method: 'GET',
      path: '/v1/tools',
      summary: 'List the tools for a model, as JSON schemas, and what to tell it about them',
      authorization: 'any-principal',
      query: ToolsQuery,
      answers: { 200: json('ToolList', ToolList, 'The tools') },
      errors: [],
      async handle({ query }) {
        const definitions = tools.definitions()
        const listed = query.format === 'openai' ? definitions.map(openAiTool) : [...definitions]
        return { status: 200, body: { guidance: tools.guidance(), tools: listed } }
      },
    }),
    ...TOOL_NAMES.map(callOf),
  ]
}

type ToolRouteCall = Call<Nothing, Nothing, ToolCallBody>

/** What the tool itself promises is not said a second time here. */
function resultOf(name: ToolName): z.ZodType<object, object> {
  return z.union([TOOL_SHAPES[name].result, ToolFailure])
}

/** What the document says of each, and calls its result. */
const WORDS: Readonly<Record<ToolName, { readonly summary: string; readonly result: string }>> = {
  exec: { summary: 'Run a shell command for a model', result: 'ExecToolResult' },
  read: { summary: 'Read a file or list a directory for a model', result: 'ReadToolResult' },
  write: { summary: 'Write a file for a model', result: 'WriteToolResult' },
  edit: { summary: 'Replace one passage of a file for a model', result: 'EditToolResult' },
  glob: { summary: 'Find files by a pattern for a model', result: 'GlobToolResult' },
  grep: { summary: 'Search the lines of files for a model', result: 'GrepToolResult' },
  activate: { summary: 'Show a skill to a model', result: 'ActivateToolResult' },
  register_skill: { summary: 'Keep a directory of the workspace as a skill', result: 'RegisterSkillToolResult' },
  process_start: { summary: 'Start a named process for a model', result: 'ProcessStartToolResult' },
  process_list: { summary: 'List the named processes for a model', result: 'ProcessListToolResult' },
  process_logs: { summary: 'Show what a named process printed to a model', result: 'ProcessLogsToolResult' },
  process_stop: { summary: 'Stop a named process for a model', result: 'ProcessStopToolResult' },
  preview: { summary: 'Ask a web app inside for a page, for a model, with a link for a person', result: 'PreviewToolResult' },
}
