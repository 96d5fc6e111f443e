/**
 * Which of a server's tools may be seen and called.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * A name, or a pattern in which `*` stands for anything. What is denied is denied, whatever is allowed; without a list, all are allowed.
 */
import { isObject } from '../../../mcp/share/message.ts'
import type { JsonObject } from '../../../mcp/share/message.ts'

export interface ToolRules {
  readonly allow?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

export function mayUse({ allow, deny }: ToolRules, tool: string): boolean {
  if (deny?.some((pattern) => matches(pattern, tool)) === true) return false
  return allow === undefined || allow.some((pattern) => matches(pattern, tool))
}

/** The result of `tools/list`, without what may not be used. */
export function visibleTools(rules: ToolRules, result: JsonObject): JsonObject {
  const { tools } = result
  if (!Array.isArray(tools) || (rules.allow === undefined && rules.deny === undefined)) return result
  return { ...result, tools: tools.filter((tool: unknown) => isObject(tool) && mayUse(rules, String(tool['name']))) }
}

/** Parts in their order, so that a pattern of many stars costs no more than its length times the name's. */
function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === name
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}
