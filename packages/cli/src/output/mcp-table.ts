/**
 * MCP servers, their processes and their tools as people read them.
 */
import type { McpLog, McpRun, McpServerRecord, McpTool, McpToolResult } from '@holdfast/sdk'
import { printable } from './printable.ts'
import type { Column } from './table.ts'

export const serverColumns: readonly Column<McpServerRecord>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'SCOPE', of: ({ scope }) => scope },
  { title: 'STATE', of: stateWords, tint: (server) => (server.runs.some(({ state }) => state === 'failed') ? 'red' : 'none') },
  { title: 'COMMAND', of: ({ command, args }) => [command, ...args].join(' '), isFlexible: true },
]

export const runColumns: readonly Column<McpRun>[] = [
  { title: 'FOR', of: ({ scopeKey }) => scopeKey, isFlexible: true },
  { title: 'STATE', of: ({ state }) => state },
  { title: 'PHASE', of: ({ phase }) => phase },
  { title: 'HEALTH', of: ({ health }) => health ?? '-' },
  { title: 'SESSION', of: ({ sessionId }) => sessionId ?? '-' },
  { title: 'PID', of: ({ pid }) => (pid === null ? '-' : String(pid)) },
  { title: 'CLIENTS', of: ({ clients }) => String(clients) },
  { title: 'PROBLEM', of: ({ error }) => error?.message ?? '', isFlexible: true },
]

export const toolColumns: readonly Column<McpTool>[] = [
  { title: 'TOOL', of: ({ name }) => name },
  {
    title: 'DESCRIPTION',
    of: ({ description }) => (typeof description === 'string' ? (description.split('\n')[0] ?? '') : ''),
    isFlexible: true,
  },
]

export function serverRows(server: McpServerRecord): readonly (readonly [string, string])[] {
  const { name, scope, command, args, envKeys, cwd, tools } = server
  return [
    ['name', name],
    ['scope', scope],
    ['state', stateWords(server)],
    ['command', [command, ...args].join(' ')],
    ...(cwd === null ? [] : [['directory', cwd] as const]),
    ...(envKeys.length === 0 ? [] : [['environment', envKeys.join(', ')] as const]),
    ...(tools.allow === undefined ? [] : [['allowed tools', tools.allow.join(', ')] as const]),
    ...(tools.deny === undefined ? [] : [['denied tools', tools.deny.join(', ')] as const]),
    ['created', server.createdAt],
    ['changed', server.updatedAt],
  ]
}

/** `2 ready, 1 failed`. */
function stateWords({ disabled, runs }: McpServerRecord): string {
  if (disabled) return 'disabled'
  const states = ['ready', 'starting', 'failed', 'stopped'] as const
  const counted = states.map((state) => [runs.filter((run) => run.state === state).length, state] as const)
  return (
    counted
      .filter(([count]) => count > 0)
      .map(([count, state]) => `${count} ${state}`)
      .join(', ') || '-'
  )
}

export function logText({ scopeKey, lines }: McpLog, isOneOfMany: boolean): string {
  const text = lines.map(({ at, source, text: line }) => `${at ?? '-'} ${source} ${printable(line)}\n`).join('')
  return isOneOfMany ? `# ${printable(scopeKey)}\n${text}` : text
}

/** Text as it is meant to be read; what else there is by its kind. */
export function callText({ content = [], structuredContent }: McpToolResult): string {
  if (content.length === 0 && structuredContent !== undefined) return `${JSON.stringify(structuredContent, null, 2)}\n`
  return content
    .map((part) => (part.type === 'text' && typeof part['text'] === 'string' ? printableText(part['text']) : `[${printable(part.type)}]`))
    .map((text) => (text.endsWith('\n') ? text : `${text}\n`))
    .join('')
}

function printableText(text: string): string {
  return text.split('\n').map(printable).join('\n')
}
