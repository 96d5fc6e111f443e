/**
 * Our tools for one MCP client on the pipes of this program, until the client leaves or somebody stops it.
 *
 * Nothing but the protocol goes to stdout.
 */
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Holdfast } from '@holdfast/sdk'
import { isFailure, tellFailure } from '../failure.ts'
import type { ToolConversation } from './conversation.ts'
import { readOffer, toolServer } from './tool-server.ts'

export async function serveTools(holdfast: Holdfast, conversation: ToolConversation): Promise<void> {
  const offer = await readOffer(holdfast)
  const left = Promise.withResolvers<void>()
  const leave = () => left.resolve()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, leave)
  process.stdin.once('end', leave).once('close', leave)
  // A client that no longer reads has left.
  process.stdout.once('error', leave)
  const serving = serveStdio(() => toolServer(offer, conversation))
  await left.promise
  // First the calls, whose commands end with them.
  await serving.close()
  await conversation.leave().catch((error: unknown) => {
    if (!isFailure(error)) throw error
    tellFailure(error)
  })
  process.stdin.destroy()
}
