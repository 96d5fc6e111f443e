/** What the README shows is what happens: its commands, its request and its program are run against a real server. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../../packages/sdk/src/contract/run-program.ts'
import { isSkipped, startServerForTests, why } from '../../packages/sdk/src/contract/running-server.ts'
import type { ServerForTests } from '../../packages/sdk/src/contract/running-server.ts'
import { openShell, withoutChance } from './typed-shell.ts'
import type { TypedShell } from './typed-shell.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(ROOT, 'README.md'), 'utf8')
/** What `doctor` says is a matter of the machine. */
const consoles = [...page.matchAll(/^```console\n(?<text>[^]*?)^```$/gm)]
  .map(({ groups, index }) => ({ heading: headingBefore(index), text: groups?.['text'] ?? '' }))
  .filter(({ text }) => !text.includes('holdfast doctor'))

function headingBefore(place: number): string {
  return [...page.slice(0, place).matchAll(/^## (?<text>.*)$/gm)].at(-1)?.groups?.['text'] ?? ''
}

/** A block of one language that is followed by one of another: what is done, and what comes of it. */
function pair(first: string, second: string): { readonly done: string; readonly shown: string } {
  const found = new RegExp(`^\`\`\`${first}\\n(?<done>(?:(?!\`\`\`)[^])*)^\`\`\`\\n\\n\`\`\`${second}\\n(?<shown>[^]*?)^\`\`\`$`, 'm').exec(
    page,
  )
  return { done: found?.groups?.['done'] ?? '', shown: found?.groups?.['shown'] ?? '' }
}

describe.skipIf(isSkipped)(`the README${why}`, () => {
  let running: ServerForTests
  let shell: TypedShell
  beforeAll(async () => {
    running = await startServerForTests({ HOLDFAST_SESSIONS_ON_STOP: 'suspend' })
    shell = openShell({ HOLDFAST_URL: running.server.url, HOLDFAST_API_KEY: running.apiKey })
    mkdirSync(join(shell.home, '.holdfast'))
    writeFileSync(join(shell.home, '.holdfast', 'admin.key'), running.apiKey)
    // Its reader is in a clone.
    symlinkSync(join(ROOT, 'examples'), join(shell.home, 'examples'))
  })
  afterAll(async () => {
    await shell.close()
    await running.close()
  })

  test('the request of the quick start has this answer', async () => {
    const { done, shown } = pair('sh', 'json')
    const [answer] = await shell.type(done.replaceAll('\\\n', ' ').replace('http://127.0.0.1:5410', running.server.url).trim())
    expect(withoutChance(answer ?? '')).toBe(withoutChance(shown.replaceAll('\n', '')))
  })

  test.each(consoles)('the commands of "$heading"', async ({ text }) => {
    const lines = [...text.matchAll(/^\$ (?<line>.*)$/gm)].map(({ groups }) => groups?.['line'] ?? '')
    const transcript: string[] = []
    for (const line of lines) transcript.push(`$ ${line}`, ...(line.startsWith('alias ') ? [] : await shell.type(line)))
    expect(withoutChance(`${transcript.join('\n')}\n`)).toBe(withoutChance(text))
  })

  test('the program prints this', async () => {
    const { done, shown } = pair('ts', 'text')
    const path = join('scripts', 'docs', `readme-program-${process.pid}.ts`)
    writeFileSync(join(ROOT, path), done)
    try {
      const env = { HOLDFAST_URL: running.server.url, HOLDFAST_API_KEY: running.apiKey }
      expect(await runProgram(process.execPath, [path], ROOT, env)).toEqual({ stdout: shown, stderr: '', exitCode: 0 })
    } finally {
      rmSync(join(ROOT, path))
    }
  })
})
