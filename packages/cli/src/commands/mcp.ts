/** `holdfast mcp …`: our tools for MCP clients, and MCP servers that run in boxes. */
import { join } from 'node:path'
import { Argument } from 'commander'
import type { Command } from 'commander'
import { openClient } from '../client.ts'
import { clientEnvironment } from '../config.ts'
import { note } from '../failure.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { withSession } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { sandboxWish, withSandboxWish } from '../flags/wish-flags.ts'
import type { SandboxWishFlags } from '../flags/wish-flags.ts'
import { clientConfig, MCP_CLIENTS } from '../mcp/client-config.ts'
import type { McpClient, OwnProgram } from '../mcp/client-config.ts'
import { write } from '../output/print.ts'
import { addMcpServers } from './mcp-servers.ts'

export function addMcp(program: Command): void {
  const mcp = program
    .command('mcp')
    .description('a sandbox for MCP clients such as Claude Code, Cursor and VS Code, and MCP servers that run in one')
    .addHelpText(
      'after',
      `
Examples:
  holdfast mcp config claude
  holdfast mcp serve --session demo
  holdfast mcp add everything -- npx -y @modelcontextprotocol/server-everything
  holdfast mcp call everything echo '{"message":"hello"}' --session demo`,
    )
  addMcpServers(mcp)
  addServe(mcp)
  addConfig(mcp)
}

function addServe(mcp: Command): void {
  const serve = mcp
    .command('serve')
    .description('offer the tools of the running server on stdin and stdout; unless one is named, in a session that ends with this program')
    .addHelpText(
      'after',
      `
Examples:
  holdfast mcp serve
  holdfast mcp serve --session demo
  holdfast mcp serve --scope chat --var launcher_type=group --var launcher_id=7`,
    )
  withServer(withSandboxWish(withSession(serve))).action(async (flags: ServerFlags & SessionFlags & SandboxWishFlags) => {
    const [{ openConversation }, { serveTools }] = await Promise.all([import('../mcp/conversation.ts'), import('../mcp/serve-tools.ts')])
    const holdfast = await openClient(flags)
    await serveTools(holdfast, openConversation(holdfast, flags, sandboxWish(flags)))
  })
}

function addConfig(mcp: Command): void {
  mcp
    .command('config')
    .description('print what gives an MCP client a sandbox for each conversation')
    .addArgument(new Argument('<client>', 'the client').choices(MCP_CLIENTS))
    .argument('[flags...]', 'flags of `mcp serve`, after --')
    .addHelpText(
      'after',
      `
Examples:
  holdfast mcp config claude
  holdfast mcp config cursor -- --session demo`,
    )
    .action(async (client: McpClient, flags: readonly string[]) => {
      await write(`${clientConfig(client, ownProgram(), flags)}\n`)
      if (clientEnvironment().apiKey !== null)
        note('HOLDFAST_API_KEY is set here and not printed, because it is a secret; give it to the client as a variable of this server')
    })
}

/** A client starts it in a directory of its own choosing. */
function ownProgram(): OwnProgram {
  const { program, clone, whereabouts: env } = clientEnvironment()
  if (clone === null) return { program: [program], env }
  // What npm runs of a clone has another name after every change; its entry stays.
  return { program: [process.execPath, join(clone, 'scripts/run.mjs'), 'holdfast'], env }
}
