/**
 * What somebody is told who does not reach an app: a problem document, or a plain page where a person looks.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HoldfastError } from '@holdfast/protocol'
import type { Reply } from '../rest/route.ts'

/** Never says which of these it is. */
export function noSuchLink(): HoldfastError {
  return new HoldfastError('not_found', 'this link does not work, or does not work any more; ask for a new one')
}

/** On a link a browser asks for pages, and a person reads what comes. */
export function refuse(request: IncomingMessage, answer: ServerResponse, { status, body, headers = {} }: Reply, isLink: boolean): void {
  const isPage = isLink && request.headers.accept?.includes('text/html') === true
  const text = isPage ? pageOf(body) : JSON.stringify(body)
  answer.writeHead(status, {
    ...{ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
    ...(isPage
      ? { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" }
      : {}),
    'content-length': Buffer.byteLength(text),
    // The body of the request was not read.
    ...(request.complete ? {} : { connection: 'close' }),
  })
  answer.end(text)
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}h1{font-size:1.2rem}p{opacity:.75}'
/** While an app starts, the page asks again by itself. */
const RETRY_SECONDS = 2

function pageOf(body: unknown): string {
  const isStarting = typeof body === 'object' && body !== null && 'code' in body && body.code === 'connection_refused'
  const words = typeof body === 'object' && body !== null && 'title' in body ? String(body.title) : 'the app cannot be shown'
  const sentence = `${words.charAt(0).toUpperCase()}${words.slice(1)}.`.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Preview</title><style>${STYLE}</style>`
  const retry = isStarting ? `<meta http-equiv="refresh" content="${RETRY_SECONDS}">` : ''
  const advice = isStarting ? '<p>This page looks again every two seconds until the app listens.</p>' : ''
  return `<!doctype html><html lang="en">${head}${retry}<h1>${sentence}</h1>${advice}</html>\n`
}
