/** Completion in real shells: verbs, flags and their values from the program, sessions from the server. */
import { spawnSync } from 'node:child_process'
import { expect, describe, test } from 'vitest'
import { createProgram } from '../program.ts'
import { completionScript } from './scripts.ts'
import { vocabularyOf } from './vocabulary.ts'

const vocabulary = vocabularyOf(createProgram())

/** A server with two sessions, or none that answers. */
const SESSIONS = `holdfast() {
  case "$2 $3" in
    scopes*) printf 'chat\\nuser\\n' ;;
    servers*) printf 'words\\n' ;;
    paths*) printf 'demo:data/\\ndemo:note.txt\\n' ;;
    'processes demo') printf 'web\\trunning\\n' ;;
    *) printf 'demo\\tidle\\nses_4k2m4k2m\\tdemo\\n' ;;
  esac
}`
const NOBODY = 'holdfast() { echo trouble >&2; return 1; }'

const isHere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0
const skipped = (shell: string) => (isHere(shell) ? '' : ` (skipped: there is no ${shell} here)`)

describe('bash', () => {
  const script = completionScript('bash', vocabulary)
  const complete = (words: readonly string[], holdfast = SESSIONS) => {
    const quoted = ['holdfast', ...words].map((word) => `'${word}'`).join(' ')
    const line = `COMP_LINE='holdfast ${words.join(' ')}'; COMP_POINT=\${#COMP_LINE};`
    const asking = `${line} COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${holdfast}\n${script}\n${asking}`], { cwd: import.meta.dirname })
    expect(stderr.toString()).toBe('')
    return stdout.toString().trim().split('\n').toSorted()
  }

  test('verbs, also of groups and under their other names', () => {
    expect(complete(['se'])).toEqual(['session', 'sessions'])
    expect(complete(['sessions', 'su'])).toEqual(['suspend'])
    expect(complete(['session', 're'])).toEqual(['refresh', 'reject-transfer', 'release', 'reset-home', 'resume'])
    expect(complete([''])).not.toContain('__complete')
  })

  test('flags and their values', () => {
    expect(complete(['sessions', 'ls', '--st'])).toEqual(['--state'])
    expect(complete(['sessions', 'ls', '-o', ''])).toEqual(['json', 'table', 'yaml'])
    expect(complete(['sessions', 'release', '--if-busy', 'k'])).toEqual(['kill'])
    expect(complete(['completion', ''])).toEqual(['bash', 'fish', 'zsh'])
  })

  test('sessions, and quietly nothing where the server does not answer', () => {
    expect(complete(['shell', ''])).toEqual(['demo', 'ses_4k2m4k2m'])
    expect(complete(['sessions', 'get', 'de'])).toEqual(['demo'])
    expect(complete(['exec', '-s', 'ses'])).toEqual(['ses_4k2m4k2m'])
    expect(complete(['shell', ''], NOBODY)).toEqual([''])
  })

  test('processes of the session that was named, scopes, MCP servers and paths inside', () => {
    expect(complete(['logs', ''])).toEqual(['demo', 'ses_4k2m4k2m'])
    expect(complete(['logs', 'demo', ''])).toEqual(['web'])
    expect(complete(['logs', '-f', 'demo', 'w'])).toEqual(['web'])
    expect(complete(['exec', '--scope', 'ch'])).toEqual(['chat'])
    expect(complete(['mcp', 'call', ''])).toEqual(['words'])
    expect(complete(['cp', 'demo:n'])).toEqual(['note.txt'])
    expect(complete(['files', 'ls', 'demo:'])).toEqual(['data/', 'note.txt'])
  })

  test('files after -- and for cp', () => {
    expect(complete(['exec', '-s', 'demo', '--', 'scr'])).toEqual(['scripts.ts'])
    expect(complete(['cp', 'voc'])).toEqual(['vocabulary.ts'])
  })
})

describe.each([
  ['zsh', ['-n']],
  ['fish', ['--no-execute']],
] as const)('%s', (shell, check) => {
  test.skipIf(!isHere(shell))(`reads the script${skipped(shell)}`, () => {
    const { status, stderr } = spawnSync(shell, [...check, '/dev/stdin'], { input: completionScript(shell, vocabulary) })
    expect({ status, errors: stderr.toString() }).toEqual({ status: 0, errors: '' })
  })
})

test.each(['bash', 'zsh', 'fish'] as const)('the script for %s knows every verb and asks for sessions', (shell) => {
  const script = completionScript(shell, vocabulary)
  for (const { path } of vocabulary.filter((place) => place.path !== '')) expect(script).toContain(`'${path}'`)
  expect(script).toContain('holdfast __complete')
})
