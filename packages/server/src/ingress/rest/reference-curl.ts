/**
 * A command line for each route, to be copied into a shell.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * A body is the smallest that its schema lets pass, unless one is written here that says more. A test gives each of them to its route.
 */
import type { Operation, Parameter, Schema } from './reference-document.ts'
import { resolved } from './reference-schema.ts'
import type { Schemas } from './reference-schema.ts'

const BODIES: Readonly<Record<string, unknown>> = {
  'POST /v1/exec': { scope: 'chat', variables: { launcher_type: 'group', launcher_id: '123456' }, command: 'python3 -c "print(6*7)"' },
  'POST /v1/sessions': { key: 'my-task', labels: { team: 'a' }, wait_ms: 10_000 },
  'PATCH /v1/sessions/{id}': { labels: { team: 'b' } },
  'POST /v1/sessions/{id}/executions': { command: 'make test' },
  'POST /v1/sessions/{id}/executions/{execution}/stdin': { data: 'hello\n' },
  'POST /v1/sessions/{id}/executions/{execution}/signal': { signal: 'SIGINT' },
  'POST /v1/sessions/{id}/executions/{execution}/resize': { cols: 120, rows: 40 },
  'POST /v1/sessions/{id}/processes': { name: 'web', command: 'python3 -m http.server 8000' },
  'POST /v1/sessions/{id}/previews': { port: 8000 },
  'POST /v1/sessions/{id}/files/move': { from: 'a.txt', to: 'b.txt' },
  'POST /v1/sessions/{id}/files/directories': { path: 'src' },
  'POST /v1/sessions/{id}/files/links': { path: 'plot.png', ttl_seconds: 600 },
  'POST /v1/sessions/{id}/transfer': { owner: 'grace' },
  'POST /v1/sessions/{id}/transfer/accept': { owner: 'grace' },
  'POST /v1/tenants': { name: 'acme' },
  'POST /v1/keys': { name: 'laptop', subject: 'ada' },
  'POST /v1/tools/exec': { session: 'my-task', input: { command: 'ls -l' } },
  'POST /v1/tools/read': { session: 'my-task', input: { path: '/workspace/notes.txt' } },
  'POST /v1/tools/write': { session: 'my-task', input: { path: '/workspace/notes.txt', content: 'hello' } },
  'POST /v1/tools/edit': { session: 'my-task', input: { path: '/workspace/notes.txt', old_string: 'hello', new_string: 'hi' } },
  'POST /v1/tools/glob': { session: 'my-task', input: { pattern: '**/*.py' } },
  'POST /v1/tools/grep': { session: 'my-task', input: { pattern: 'TODO' } },
  'POST /v1/tools/activate': { session: 'my-task', input: { skill_name: 'demo' } },
  'POST /v1/tools/register_skill': { session: 'my-task', input: { path: '/workspace/demo' } },
  'POST /v1/tools/preview': { session: 'my-task', input: { port: 8000 } },
  'POST /v1/tools/process_start': { session: 'my-task', input: { name: 'web', command: 'python3 -m http.server 8000' } },
  'POST /v1/tools/process_list': { session: 'my-task', input: {} },
  'POST /v1/tools/process_logs': { session: 'my-task', input: { name: 'web' } },
  'POST /v1/tools/process_stop': { session: 'my-task', input: { name: 'web' } },
  'POST /v1/mcp/servers': { mcpServers: { everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] } } },
  'PUT /v1/mcp/servers/{name}': { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything'] },
  'POST /v1/mcp/servers/{name}/start': { session: 'my-task' },
  'POST /v1/mcp/servers/{name}/tools/{tool}': { session: 'my-task', arguments: { message: 'hello' } },
  'POST /v1/webhooks': { url: 'https://example.com/hook' },
}

const QUERY: Readonly<Record<string, string>> = { path: 'notes.txt' }

/** `undefined` for a route that takes none. */
export function exampleBody(method: string, path: string, { requestBody }: Operation, schemas: Schemas): unknown {
  const schema = requestBody?.content['application/json']?.schema
  if (schema === undefined) return undefined
  return BODIES[`${method} ${path}`] ?? smallest(resolved(schema, schemas), schemas)
}

export function curlOf(method: string, path: string, operation: Operation, schemas: Schemas): string {
  const { requestBody, responses } = operation
  const parameters = operation.parameters.filter((parameter): parameter is Parameter => 'name' in parameter && parameter.required)
  const query = parameters.filter((each) => each.in === 'query').map(({ name }) => `${name}=${QUERY[name] ?? 'x'}`)
  const address = `$URL${path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => `$${name.toUpperCase()}`)}`
  const good = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  const body = exampleBody(method, path, operation, schemas)
  // Nothing for curl.
  if ('101' in responses) return `websocat -H "Authorization: Bearer $KEY" "${address.replace('$URL', '${URL/http/ws}')}"`
  return [
    `curl -s${'text/event-stream' in good ? 'N' : ''}`,
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`-X ${method}`]),
    `"${address}${query.length === 0 ? '' : `?${query.join('&')}`}"`,
    ...('x-authorization' in operation && operation['x-authorization'] !== undefined ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...(parameters.some(({ name }) => name === 'If-Match') ? [`-H 'If-Match: "1"'`] : []),
    ...(Object.keys(good).length === 1 && 'text/event-stream' in good ? [`-H 'Accept: text/event-stream'`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
    ...(requestBody !== undefined && body === undefined ? ['--data-binary @file'] : []),
  ].join(' ')
}

/** Only what is required, each with the first thing that may stand there. */
function smallest(schema: Schema, schemas: Schemas): unknown {
  const whole = resolved(schema, schemas)
  if (whole.const !== undefined) return whole.const
  if (whole.enum !== undefined) return whole.enum[0]
  const [first] = whole.anyOf ?? []
  if (first !== undefined) return smallest(first, schemas)
  const type = Array.isArray(whole.type) ? whole.type[0] : whole.type
  if (type === 'object') {
    const required = Object.entries(whole.properties ?? {}).filter(([name]) => whole.required?.includes(name) === true)
    return Object.fromEntries(required.map(([name, field]) => [name, smallest(field, schemas)]))
  }
  if (type === 'array') return []
  if (type === 'boolean') return true
  return type === 'string' ? 'x' : (whole.minimum ?? 1)
}

function quoted(text: string): string {
  return `'${text.replaceAll(`'`, String.raw`'\''`)}'`
}
