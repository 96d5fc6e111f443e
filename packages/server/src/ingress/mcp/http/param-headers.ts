/**
 * Arguments of a tool that its server wants repeated in headers, `Mcp-Param-<name>`, since 2026-07-28.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 *
 * Which ones is declared in the tool's schema, and learned from the lists of tools that pass: who calls has seen one.
 */
import { scanInTurns } from '../../../mcp/share/json-scan.ts'
import { LargeJson, largeObject } from '../../../mcp/share/large-json.ts'
import { isObject } from '../../../mcp/share/message.ts'
import type { JsonObject } from '../../../mcp/share/message.ts'
import { decodedHeader } from './header-value.ts'
import type { Refusal } from './json-answer.ts'
import { mismatch } from './modern-headers.ts'

interface Declaration {
  readonly path: readonly string[]
  readonly header: string
}

export interface ParamHeaders {
  learn(server: object, result: JsonObject): void
  /** Throws `ParamHeaderMismatch`. */
  check(server: object, params: JsonObject, header: (name: string) => string | undefined): Promise<void>
}

/** Stays within this door, which knows how to refuse. */
export class ParamHeaderMismatch extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

const MAXIMUM_TOOLS = 10_000
const MAXIMUM_DEPTH = 16
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export function createParamHeaders(): ParamHeaders {
  const known = new WeakMap<object, Map<string, readonly Declaration[]>>()
  return {
    learn(server, { tools }) {
      const ofServer = known.get(server) ?? new Map<string, readonly Declaration[]>()
      for (const tool of Array.isArray(tools) ? tools : []) {
        if (!isObject(tool) || typeof tool['name'] !== 'string') continue
        const declarations = [...declarationsIn(tool['inputSchema'], [])]
        ofServer.delete(tool['name'])
        if (declarations.length > 0 && ofServer.size < MAXIMUM_TOOLS) ofServer.set(tool['name'], declarations)
      }
      known.set(server, ofServer)
    },
    async check(server, { name, arguments: given }, header) {
      const declarations = typeof name === 'string' ? known.get(server)?.get(name) : undefined
      if (declarations === undefined) return
      const members = given instanceof LargeJson ? await membersOf(given) : given
      for (const declaration of declarations) checkOne(declaration, members, header)
    },
  }
}

/** What is left unparsed in there is refused by `checkOne`. */
async function membersOf({ bytes }: LargeJson): Promise<unknown> {
  const members = largeObject(bytes, await scanInTurns(bytes))
  if (members === null) throw new ParamHeaderMismatch(mismatch('(none)', 'the arguments are too large to be compared with headers'))
  return members
}

/** The schema of a tool without these declarations, for a door that does not check them: who reads none sends none. */
export function withoutParamHeaders(schema: JsonObject, depth = 0): JsonObject {
  if (depth > MAXIMUM_DEPTH) return schema
  const { 'x-mcp-header': _, ...rest } = schema
  const { properties } = rest
  if (!isObject(properties)) return rest
  const plain = ([name, child]: [string, unknown]) => [name, isObject(child) ? withoutParamHeaders(child, depth + 1) : child] as const
  return { ...rest, properties: Object.fromEntries(Object.entries(properties).map(plain)) }
}

/** Only what is reached by the names of properties alone has one place in the arguments. */
function* declarationsIn(schema: unknown, path: readonly string[]): Generator<Declaration, void, void> {
  if (!isObject(schema) || path.length > MAXIMUM_DEPTH) return
  const header = schema['x-mcp-header']
  if (typeof header === 'string' && TOKEN.test(header) && path.length > 0) yield { path, header }
  const { properties } = schema
  if (isObject(properties)) for (const [name, child] of Object.entries(properties)) yield* declarationsIn(child, [...path, name])
}

function checkOne({ path, header: name }: Declaration, given: unknown, header: (name: string) => string | undefined): void {
  const value = path.reduce<unknown>(
    (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : node instanceof LargeJson ? node : undefined),
    given,
  )
  if (value instanceof LargeJson)
    throw new ParamHeaderMismatch(mismatch('(none)', `${path.join('.')} is too large to be compared with a header`))
  if (typeof value !== 'string' && typeof value !== 'boolean' && !Number.isSafeInteger(value)) return
  const full = `Mcp-Param-${name}`
  const said = header(full.toLowerCase())
  if (said === undefined)
    throw new ParamHeaderMismatch(mismatch('(missing)', `the body has ${path.join('.')}, and the header ${full} is absent`))
  const decoded = decodedHeader(said)
  if (decoded === null) throw new ParamHeaderMismatch(mismatch(said, `the header ${full} is not valid base64`))
  const isSame = typeof value === 'number' ? /^-?\d+(?:\.\d+)?$/.test(decoded) && Number(decoded) === value : decoded === String(value)
  if (!isSame) throw new ParamHeaderMismatch(mismatch(said, `the header ${full} is not ${path.join('.')} of the body`))
}
