/** JSON is read piece by piece as `JSON.parse` reads it whole. */
import { expect, test } from 'vitest'
import { JsonScan, scanInTurns } from './json-scan.ts'

function scanned(text: string, piece = 1): JsonScan {
  const scan = new JsonScan()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += piece) scan.push(bytes.subarray(at, at + piece))
  scan.end()
  return scan
}

const isJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const SAMPLES = [
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[{},[],"\\u00e9\\n",-1.5e+10,0,true,false,null]}}}',
  ' [ 1 , 2.25 , -0 , 1E5 , "" ] ',
  '"text"',
  '-12.5e-3',
  'null',
  '{}',
  '{"a":{"b":1},"a":2}',
]

test('agrees with JSON.parse about what is valid, whatever the pieces', () => {
  let state = 7
  const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below
  const alphabet = '{}[]:,"\\-+.0123eEtrufalsn \n\t\u0001é'
  const differing: string[] = []
  for (let round = 0; round < 20_000; round += 1) {
    const sample = SAMPLES[random(SAMPLES.length)] ?? ''
    const at = random(sample.length + 1)
    const byte = alphabet[random(alphabet.length)] ?? ''
    const text = sample.slice(0, at) + (random(3) > 0 ? byte : '') + sample.slice(at + random(2))
    if ((scanned(text, 1 + random(9)).problem === null) !== isJson(text)) differing.push(text)
  }
  expect(differing).toEqual([])
})

test('finds the members of the first two levels, and counts all', () => {
  const text = '{"id" : 5,"params":{"name":"x","arguments":{"a":[1,{"b":2}]}},"list":[1,2]}'
  const scan = scanned(text, 4)
  const shown = ({ parent, nameFrom, nameTo, from, to }: (typeof scan.first)[number]) => [
    parent,
    text.slice(nameFrom, nameTo),
    text.slice(from, to),
  ]
  expect(scan.first.map(shown)).toEqual([
    [-1, '"id"', '5'],
    [-1, '"params"', '{"name":"x","arguments":{"a":[1,{"b":2}]}}'],
    [-1, '"list"', '[1,2]'],
  ])
  expect(scan.second.map(shown)).toEqual([
    [1, '"name"', '"x"'],
    [1, '"arguments"', '{"a":[1,{"b":2}]}'],
  ])
  expect([scan.members, scan.shallowMembers, scan.isObject]).toEqual([11, 7, true])
})

test('refuses what is nested too deep, and keeps a bounded number of positions', () => {
  expect(scanned('['.repeat(300_000), 4096).problem).toContain('nested more than 1000 deep')
  const crowded = scanned(`{${Array.from({ length: 2_000 }, (_, at) => `"a${at}":1`).join(',')}}`, 100)
  expect([crowded.isFirstCrowded, crowded.first.length, crowded.members]).toEqual([true, 1_000, 2_000])
})

test('makes one line of what has line breaks between its values', async () => {
  const bytes = Buffer.from('{\r\n  "a": "b\\n",\n"c": [\n1]\n}')
  expect((await scanInTurns(bytes)).problem).toBeNull()
  expect(bytes.toString()).not.toMatch(/[\r\n]/)
  expect(JSON.parse(bytes.toString())).toEqual({ a: 'b\n', c: [1] })
})

test('scans megabytes without keeping the event loop', async () => {
  const bytes = Buffer.from(`[${'{},'.repeat(1_000_000)}{}]`)
  let turns = 0
  const counting = setInterval(() => (turns += 1), 0)
  const { members } = await scanInTurns(bytes)
  clearInterval(counting)
  expect(members).toBe(1_000_001)
  expect(turns).toBeGreaterThan(0)
})
