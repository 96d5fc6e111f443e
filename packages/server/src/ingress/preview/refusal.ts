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
    ...(isPage ? { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': "default-src 'none'" } : {}),
    'content-length': Buffer.byteLength(text),
    // The body of the request was not read.
    ...(request.complete ? {} : { connection: 'close' }),
  })
  answer.end(text)
}

function pageOf(body: unknown): string {
  const words = typeof body === 'object' && body !== null && 'title' in body ? String(body.title) : 'the app cannot be shown'
  const sentence = `${words.charAt(0).toUpperCase()}${words.slice(1)}.`.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Preview</title><p>${sentence}</p></html>\n`
}
