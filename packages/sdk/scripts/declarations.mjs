/**
 * One file of declarations out of many: what the entry exports, and what that mentions, in the order of the modules.
 *
 * Works on what the compiler writes: a statement begins at the start of a line, and its comment stands right before it. No two modules
 * may declare the same name; that is checked where it matters.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {object} Statement
 * @property {string} name what it declares
 * @property {string} text with its comment, without `export`
 * @property {ReadonlySet<string>} mentions
 */

const HEADER = '/** The client of Holdfast. */\n'
const DECLARES = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let|var) ([A-Za-z_$][\w$]*)/

/**
 * @param {string} directory of `.d.ts` files
 * @param {string} entry the file that exports everything
 * @returns {string}
 */
export function bundleDeclarations(directory, entry) {
  const exported = exportedNames(readFileSync(join(directory, entry), 'utf8'))
  /** @type {Map<string, Statement[]>} */
  const statements = new Map()
  for (const file of declarationFiles(directory).filter((path) => path !== entry)) {
    for (const statement of statementsOf(readFileSync(join(directory, file), 'utf8'))) {
      statements.set(statement.name, [...(statements.get(statement.name) ?? []), statement])
    }
  }
  const reached = reachable(exported, statements)
  const body = [...statements.values()].flatMap((found) => {
    const [first, ...others] = found
    if (first === undefined || !reached.has(first.name)) return []
    if (others.length > 0) throw new Error(`two modules declare ${first.name}, and one of them is seen from outside`)
    return [exported.includes(first.name) ? exportedText(first) : first.text]
  })
  return `${HEADER}${body.join('\n')}\nexport {}\n`
}

/** @param {string} text @returns {string[]} */
function exportedNames(text) {
  return [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, names = '']) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  )
}

/** @param {string} directory @returns {string[]} */
function declarationFiles(directory) {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.d.ts'))
    .toSorted()
}

/** @param {string} text @returns {Statement[]} */
function statementsOf(text) {
  const withoutImports = text.replaceAll(/^import [^;]*;\n/gm, '').replaceAll(/^export \{\};\n/gm, '')
  return withoutImports
    .split(/\n(?=\/\*\*|export |declare |type |interface )/)
    .reduce(joinComments, /** @type {string[]} */ ([]))
    .flatMap((statement) => {
      const code = statement.replaceAll(/\/\*\*[^]*?\*\//g, '')
      const name = DECLARES.exec(code.trimStart())?.[1]
      if (name === undefined) return []
      // Of several comments only the last one is the statement's; before it stands the module's.
      const start = Math.max(0, statement.lastIndexOf('\n/**') + 1)
      const mentions = new Set([...code.matchAll(/\b[A-Z]\w*/g)].map(([word]) => word))
      return [
        {
          name,
          text: statement
            .slice(start)
            .trimEnd()
            .replace(/^(export )(?=declare |type |interface )/m, ''),
          mentions,
        },
      ]
    })
}

/** @param {string[]} statements @param {string} next @returns {string[]} */
function joinComments(statements, next) {
  const last = statements.at(-1)
  if (last === undefined || !last.trimEnd().endsWith('*/')) return [...statements, next]
  return [...statements.slice(0, -1), `${last}\n${next}`]
}

/** @param {Statement} statement @returns {string} */
function exportedText({ text }) {
  return text.replace(/^(?=declare |type |interface )/m, 'export ')
}

/**
 * @param {readonly string[]} names
 * @param {ReadonlyMap<string, readonly Statement[]>} statements
 * @returns {Set<string>}
 */
function reachable(names, statements) {
  const reached = new Set(names)
  for (const name of reached) {
    const found = statements.get(name)
    if (found === undefined && names.includes(name)) throw new Error(`${name} is exported and declared nowhere`)
    for (const mentioned of found?.flatMap(({ mentions }) => [...mentions]) ?? []) if (statements.has(mentioned)) reached.add(mentioned)
  }
  return reached
}
