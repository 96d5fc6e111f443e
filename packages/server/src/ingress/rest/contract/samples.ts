/**
 * A good request for every route, so that a walk over the table reaches every handler.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { Route } from '../route.ts'
import type { Sending } from './laboratory.ts'

const SAMPLES: Readonly<Record<string, Pick<Sending, 'body' | 'headers'> & { readonly query?: string }>> = {
  'POST /v1/exec': { body: { session_id: '{id}', command: 'true', cwd: '/' } },
  'POST /v1/sessions': { body: { key: 'another' } },
  'PATCH /v1/sessions/{id}': { body: { labels: { colour: 'red' } } },
  'POST /v1/sessions/{id}/transfer': { body: { owner: 'zoe' }, headers: { 'if-match': '"1"' } },
  'POST /v1/sessions/{id}/transfer/accept': { body: { owner: 'zoe' } },
  'POST /v1/sessions/{id}/executions': { body: { command: 'true', cwd: '/' } },
  'POST /v1/sessions/{id}/executions/{execution}/stdin': { body: { data: 'more' } },
  'POST /v1/sessions/{id}/executions/{execution}/signal': { body: { signal: 'SIGINT' } },
  'POST /v1/sessions/{id}/executions/{execution}/resize': { body: { cols: 80, rows: 24 } },
  'POST /v1/sessions/{id}/processes': { body: { name: 'another', command: 'true', cwd: '/' } },
  'PUT /v1/sessions/{id}/credentials/{name}': { body: { value: 'sample' } },
  'POST /v1/sessions/{id}/previews': { body: { port: 3000 } },
  'GET /v1/sessions/{id}/files': { query: 'path=/etc/hostname' },
  'PUT /v1/sessions/{id}/files': { query: 'path=/tmp/holdfast-sample', body: 'bytes' },
  'DELETE /v1/sessions/{id}/files': { query: 'path=/tmp/holdfast-sample' },
  'GET /v1/sessions/{id}/files/stat': { query: 'path=/' },
  'GET /v1/sessions/{id}/files/list': { query: 'path=/' },
  'POST /v1/sessions/{id}/files/move': { body: { from: '/tmp/holdfast-sample', to: '/tmp/holdfast-sample' } },
  'POST /v1/sessions/{id}/files/links': { body: { path: '/etc/hostname' } },
  'POST /v1/sessions/{id}/files/directories': { body: { path: '/tmp', parents: true } },
  'GET /v1/sessions/{id}/files/watch': { query: 'path=/tmp', headers: { accept: 'text/event-stream' } },
  'GET /v1/sessions/{id}/files/archive': { query: 'path=/etc/hostname' },
  'PUT /v1/sessions/{id}/files/archive': { query: 'path=/tmp', body: 'bytes' },
  'POST /v1/tools/exec': { body: { session_id: '{id}', input: { command: 'true', workdir: '/' } } },
  'POST /v1/tools/read': { body: { session_id: '{id}', input: { path: '/etc/hostname' } } },
  'POST /v1/tools/write': { body: { session_id: '{id}', input: { path: '/tmp/holdfast-sample', content: 'x' } } },
  'POST /v1/tools/edit': { body: { session_id: '{id}', input: { path: '/tmp/none', old_string: 'a', new_string: 'b' } } },
  'POST /v1/tools/glob': { body: { session_id: '{id}', input: { pattern: 'none', path: '/dev/shm' } } },
  'POST /v1/tools/grep': { body: { session_id: '{id}', input: { pattern: 'none', path: '/etc/hostname' } } },
  'POST /v1/tools/activate': { body: { session_id: '{id}', input: { skill_name: 'none' } } },
  'POST /v1/tools/register_skill': { body: { session_id: '{id}', input: { path: '/tmp/none' } } },
  'POST /v1/tools/preview': { body: { session_id: '{id}', input: { port: 3000 } } },
  'POST /v1/tenants': { body: { name: 'third' } },
  'PUT /v1/tenants/{id}/policy': { body: {}, headers: { 'if-match': '"1"' } },
  'PUT /v1/tenants/{id}/quotas': { body: {}, headers: { 'if-match': '"1"' } },
  'POST /v1/keys': { body: { name: 'k', subject: 's' } },
  'POST /v1/profiles': { body: { name: 'sample' } },
  'PUT /v1/profiles/{name}': { body: {}, headers: { 'if-match': '"1"' } },
  'POST /v1/pipelines': { body: { name: 'sample' } },
  'PUT /v1/pipelines/{name}': { body: {}, headers: { 'if-match': '"1"' } },
  'POST /v1/skills': { body: { name: 'sample' } },
  'PATCH /v1/skills/{name}': { body: { description: 'another' } },
  'GET /v1/skills/{name}/files': { query: 'path=SKILL.md' },
  'PUT /v1/skills/{name}/files': { query: 'path=notes.txt', body: 'bytes' },
  'POST /v1/skill-archives/preview': { body: 'bytes' },
  'POST /v1/skill-archives/install': { body: 'bytes' },
  'POST /v1/mcp/servers': { body: { mcpServers: { sample: { command: 'true' } } } },
  'PUT /v1/mcp/servers/{name}': { body: { command: 'true' } },
  'POST /v1/mcp/servers/{name}/start': { body: { session_id: '{id}' } },
  'POST /v1/mcp/servers/{name}/tools/{tool}': { body: { session_id: '{id}' } },
  'POST /v1/webhooks': { body: { url: 'https://example.com/hook' } },
}

/** For a parameter that has no id of its own. */
const USUAL: Readonly<Record<string, string>> = { tool: 'sample-tool' }

/** Where and what to send, with these ids in the places of the path's parameters. */
export function sampleOf(
  { method, path }: Route,
  ids: Readonly<Record<string, string>>,
): { readonly path: string; readonly sending: Sending } {
  const { query, body, headers = {} } = SAMPLES[`${method} ${path}`] ?? {}
  const fill = (text: string) => text.replaceAll(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? USUAL[name] ?? '')
  const text = body === undefined ? undefined : fillBody(JSON.stringify(body), ids)
  return {
    path: `${fill(path)}${query === undefined ? '' : `?${query}`}`,
    sending: { method, headers, ...(text === undefined ? {} : { body: text }) },
  }
}

function fillBody(text: string, ids: Readonly<Record<string, string>>): string {
  return text.replace('{id}', ids['id'] ?? '')
}
