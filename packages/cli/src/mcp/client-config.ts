/**
 * What gives an MCP client a sandbox for each conversation: one line for a shell, or the JSON of its settings.
 */

export const MCP_CLIENTS = ['claude', 'cursor', 'vscode'] as const
export type McpClient = (typeof MCP_CLIENTS)[number]

const NAME = 'holdfast'

/** `program`: how this program is started from anywhere. */
export function clientConfig(client: McpClient, program: readonly [string, ...string[]], flags: readonly string[]): string {
  const [command, ...before] = program
  const args = [...before, 'mcp', 'serve', ...flags]
  switch (client) {
    case 'claude':
      return `claude mcp add ${NAME} -- ${[command, ...args].map(shellWord).join(' ')}`
    case 'cursor':
      return JSON.stringify({ mcpServers: { [NAME]: { command, args } } }, null, 2)
    case 'vscode':
      return `code --add-mcp ${shellWord(JSON.stringify({ name: NAME, command, args }))}`
  }
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
