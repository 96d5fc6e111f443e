/** What `glob` and `grep` ask of a sandbox, and what they make of its answer. */
import { expect, test } from 'vitest'
import type { Entry, Found, GrepMatch, SearchBound } from '../guest/inside.ts'
import type { GlobOptions, GrepOptions } from '../sessions/session-files.ts'
import type { SessionRow } from '../store/tables/sessions.ts'
import { globTool } from './glob-tool.ts'
import { grepTool } from './grep-tool.ts'
import type { ToolCall } from './tool.ts'

const call = { session: { packUid: null } as SessionRow } as ToolCall
const entries = (...paths: readonly string[]) => paths.map((path) => ({ path }) as Entry)
const cut = (by: SearchBound) => ({ truncated: true, cutBy: by })

async function glob(answer: Found<Entry>, pattern = '*') {
  let asked: GlobOptions = {}
  const tool = globTool({
    async glob(_target, _root, _pattern, options) {
      asked = options
      return answer
    },
  })
  return { result: await tool.run(call, { pattern, path: '/workspace' }), asked }
}

async function grep(answer: Found<GrepMatch>, input: { readonly pattern: string; readonly include?: string } = { pattern: 'x' }) {
  let asked: GrepOptions & { readonly regex?: string } = {}
  const tool = grepTool({
    async grep(_target, _root, regex, options) {
      asked = { ...options, regex }
      return answer
    },
  })
  return { result: await tool.run(call, { path: '/workspace', ...input }), asked }
}

test('glob asks for a hundred of the newest, among a hundred thousand entries', async () => {
  const { asked } = await glob({ items: [], truncated: false })
  expect(asked).toEqual({ limit: 100, maxEntries: 100_000, skipIgnored: true, newestFirst: true, timeoutMs: 30_000 })
})

test('grep is bounded in matches, entries, files, bytes and time', async () => {
  const { asked } = await grep({ items: [], truncated: false }, { pattern: String.raw`(?i)a\d`, include: 'src/*.ts' })
  expect(asked).toEqual({
    ...{ limit: 200, maxEntries: 100_000, maxFiles: 5_000, maxBytes: 52_428_800, cpuMs: 250, timeoutMs: 30_000, skipIgnored: true },
    ...{ ignoreCase: true, literal: false, regex: String.raw`a\d`, include: '**/src/*.ts' },
  })
  expect((await grep({ items: [], truncated: false }, { pattern: 'plain text' })).asked).toMatchObject({ literal: true })
})

test('what ran out is told', async () => {
  const items = entries('/workspace/a')
  const by = async (answer: Partial<Found<Entry>>) => (await glob({ items, truncated: false, ...answer })).result
  expect(await by({ total: 1 })).toMatchObject({ truncated: false, truncated_by: null, total: 1 })
  expect(await by({ ...cut('matches'), total: 7 })).toMatchObject({ truncated: true, truncated_by: 'matches', total: 7 })
  expect(await by({ ...cut('entries'), total: 1 })).toMatchObject({ truncated: true, truncated_by: 'scan' })
  expect(await by({ truncated: true })).toMatchObject({ truncated: true, truncated_by: 'matches', total: 1 })
  for (const [bound, word] of [
    ['matches', 'matches'],
    ['entries', 'scan'],
    ['files', 'scan'],
    ['bytes', 'scan'],
    ['file', 'scan'],
    ['memory', 'scan'],
    ['time', 'time'],
  ] as const)
    expect((await grep({ items: [], ...cut(bound) })).result).toMatchObject({ truncated: true, truncated_by: word })
})

test('an answer has at most 50 KiB', async () => {
  const paths = Array.from({ length: 100 }, (_, index) => `/workspace/${String(index).padStart(1_000, 'é')}`)
  const found = (await glob({ items: entries(...paths), truncated: false, total: 100 })).result
  expect(found).toMatchObject({ truncated: true, truncated_by: 'bytes', total: 100 })
  expect(Buffer.byteLength(JSON.stringify('matches' in found ? found.matches : []))).toBeLessThan(52_000)
  const items = Array.from({ length: 200 }, (_, line) => ({ path: '/workspace/a', line, text: '\u0001'.repeat(600) }))
  const lines = (await grep({ items, truncated: false })).result
  expect(lines).toMatchObject({ truncated: true, truncated_by: 'bytes' })
  expect(Buffer.byteLength(JSON.stringify(lines))).toBeLessThan(52_000)
})
