/** The page of a link whose app cannot be reached. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { refuse } from './refusal.ts'

function pageFor(body: object): { headers: Record<string, unknown>; text: string } {
  let headers: Record<string, unknown> = {}
  let text = ''
  const answer = {
    writeHead: (_: number, fields: Record<string, unknown>) => (headers = fields),
    end: (sent: string) => (text = sent),
  }
  const request = { headers: { accept: 'text/html' }, complete: true }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what it uses of both
  refuse(request as IncomingMessage, answer as unknown as ServerResponse, { status: 502, body }, true)
  return { headers, text }
}

test('an app that does not listen yet is asked for again by the page itself', () => {
  const { text } = pageFor({ code: 'connection_refused', title: 'nothing listens on port 5173' })
  expect(text).toContain('<meta http-equiv="refresh" content="2">')
  expect(text).toContain('<h1>Nothing listens on port 5173.</h1>')
})

test('a link that does not work is not asked for again, and nothing in the page can run', () => {
  const { headers, text } = pageFor({ code: 'not_found', title: 'this link <script> does not work' })
  expect(text).not.toContain('refresh')
  expect(text).toContain('&lt;script>')
  expect(headers['content-security-policy']).toBe("default-src 'none'; style-src 'unsafe-inline'")
})
