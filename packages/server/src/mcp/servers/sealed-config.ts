/**
 * The configuration of an MCP server at rest: sealed whole, because commands and environments hold secrets.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { HoldfastError } from '@holdfast/protocol'
import { McpServerConfig } from '@holdfast/protocol/mcp'
import type { Sealing } from '../../home/sealing.ts'

interface Whose {
  readonly tenantId: string
  readonly name: string
}

export function sealConfig(sealing: Sealing, whose: Whose, config: McpServerConfig): Uint8Array {
  return sealing.seal(Buffer.from(JSON.stringify(config)), contextOf(whose))
}

/** Throws `config_invalid` for what was sealed with another key. */
export function openConfig(sealing: Sealing, row: Whose & { readonly config: Uint8Array }): McpServerConfig {
  const text = Buffer.from(sealing.open(row.config, contextOf(row))).toString()
  const parsed = McpServerConfig.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  const message = `the stored configuration of the MCP server ${row.name} is none for this version; put it again`
  throw new HoldfastError('config_invalid', message, {}, { cause: parsed.error })
}

function contextOf({ tenantId, name }: Whose): string {
  return `mcp server ${tenantId} ${name}`
}
