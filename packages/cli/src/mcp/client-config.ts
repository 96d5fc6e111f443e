/**
 * What gives an MCP client a sandbox for each conversation: one line for a shell, or the JSON of its settings.
 */
import { shellWord } from '../output/shell-word.ts'

export const MCP_CLIENTS = ['claude', 'claude-desktop', 'cursor', 'vscode'] as const
export type McpClient = (typeof MCP_CLIENTS)[number]

/** How this program is started from anywhere. */
export interface OwnProgram {
  readonly program: readonly [string, ...string[]]
  /** What it has to be told: a client does not pass its own environment on. */
  readonly env: Readonly<Record<string, string>>
}

const NAME = 'holdfast'

export function clientConfig(client: McpClient, { program, env }: OwnProgram, flags: readonly string[]): string {
  const [command, ...before] = program
  const args = [...before, 'mcp', 'serve', ...flags]
  const variables = Object.entries(env)
  const server = { command, args, ...(variables.length === 0 ? {} : { env }) }
  switch (client) {
    case 'claude': {
      // Behind the name: a variable before it would take the name for another one.
      const told = variables.flatMap(([name, value]) => ['-e', `${name}=${value}`])
      return ['claude', 'mcp', 'add', NAME, ...told, '--', command, ...args].map(shellWord).join(' ')
    }
    case 'claude-desktop':
    case 'cursor':
      return JSON.stringify({ mcpServers: { [NAME]: server } }, null, 2)
    case 'vscode':
      return `code --add-mcp ${shellWord(JSON.stringify({ name: NAME, ...server }))}`
  }
}
