/**
 * The headers that a request of 2026-07-28 must repeat from its body, for those between who do not read bodies.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * That they do not contradict the body where they are present is checked by the protocol's library; here, that they are there, and the name.
 */
import type { RpcRequest } from '../../../mcp/share/message.ts'
import { decodedHeader } from './header-value.ts'
import type { Refusal } from './json-answer.ts'

const HEADER_MISMATCH = -32020

/** Which field of the parameters `Mcp-Name` repeats. */
const NAMED: Readonly<Record<string, string>> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }

/** `null`: all is there. */
export function missingHeader({ method, params }: RpcRequest, header: (name: string) => string | undefined): Refusal | null {
  if (header('mcp-protocol-version') === undefined) return mismatch('(missing)', 'the required header MCP-Protocol-Version is absent')
  if (header('mcp-method') === undefined)
    return mismatch('(missing)', `the body names method ${method}, and the required header Mcp-Method is absent`)
  const field = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined
  const value = field === undefined ? undefined : params?.[field]
  if (field === undefined || typeof value !== 'string') return null
  const said = header('mcp-name')?.trim()
  if (said === undefined) return mismatch('(missing)', `the body has params.${field}, and the required header Mcp-Name is absent`)
  const decoded = decodedHeader(said)
  if (decoded === null) return mismatch(said, 'the header Mcp-Name is not valid base64')
  return decoded === value ? null : mismatch(said, `the header Mcp-Name is not params.${field} of the body`)
}

export function mismatch(header: string, body: string): Refusal {
  const data = { mismatch: { header: header.slice(0, 200), body: body.slice(0, 200) } }
  return { status: 400, code: HEADER_MISMATCH, message: `the headers and the body of the request disagree: ${body}`, data }
}
