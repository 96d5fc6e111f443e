/**
 * What the process of an MCP server is called in its session.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { createHash } from 'node:crypto'

const PREFIX = 'mcp-'
/** Of a process. */
const MAXIMUM_LENGTH = 64
const DIGEST_LENGTH = 12

/** Two servers never have the same. */
export function processNameOf(server: string): string {
  const plain = `${PREFIX}${server}`
  if (plain.length <= MAXIMUM_LENGTH) return plain
  const digest = createHash('sha256').update(server).digest('hex').slice(0, DIGEST_LENGTH)
  return `${plain.slice(0, MAXIMUM_LENGTH - DIGEST_LENGTH - 1)}-${digest}`
}
