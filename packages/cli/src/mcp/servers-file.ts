/**
 * JSON that a person has on this machine: a file of MCP servers, the arguments of a tool.
 */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { localFailure } from '../copying/local-failure.ts'
import { wrongUse } from '../flags/session-flags.ts'

/** VS Code writes comments into it, and commas behind the last one. */
export async function readServersFile(path: string): Promise<object> {
  const content = path === '-' ? await text(process.stdin) : await readFile(path, 'utf8').catch(localFailure)
  return objectOf(withoutComments(content), path === '-' ? 'stdin' : path)
}

export async function readJson(argument: string): Promise<object> {
  return argument === '-' ? objectOf(await text(process.stdin), 'stdin') : objectOf(argument, 'the arguments')
}

function objectOf(content: string, what: string): object {
  const value = parsed(content, what)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw wrongUse(`${what}: must be a JSON object`)
}

/** Where it is wrong, in place of the parser's own words: those repeat what it read, which may be a secret. */
function parsed(content: string, what: string): unknown {
  try {
    return JSON.parse(content)
  } catch (error) {
    const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(error instanceof Error ? error.message : '') ?? []
    const place = line === undefined ? '' : ` (line ${line}, column ${column})`
    throw wrongUse(`${what}: must be a JSON object, and is not valid JSON${place}`)
  }
}

/** Strings stay as they are, whatever is in them. One without an end reaches to the end of the text, so that no part is read twice. */
export function withoutComments(content: string): string {
  return content
    .replaceAll(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (found) =>
      found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' '),
    )
    .replaceAll(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|,(?=\s*[}\]])/g, (found) => (found.startsWith('"') ? found : ' '))
}
