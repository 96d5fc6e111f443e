/**
 * `/` for a browser: what runs here, and where its documentation is. Programs get the same 404 as for any address without a route.
 */
import { createHash } from 'node:crypto'
import type { HealthNeeds } from './health-routes.ts'

const STYLE = `
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5 }
main { max-width: 36rem; margin: 15vh auto 0; padding: 0 1rem }
`
const CONTENT_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export type FrontPage = () => Response

export function frontPage(health: HealthNeeds['health']): FrontPage {
  return () => {
    const { version, backend, backend_version: backendVersion } = health()
    return new Response(pageOf(escaped(version), escaped(`${backend} ${backendVersion}`)), {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': CONTENT_POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      },
    })
  }
}

/** A program that takes anything is no browser. */
export function isBrowser(accept: string | undefined): boolean {
  return accept?.includes('text/html') === true
}

function pageOf(version: string, backend: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Holdfast</h1>
<p>This server runs. Version ${version}, sandboxes by ${backend}.</p>
<p><a href="/docs">API reference</a> · <a href="/openapi.json">OpenAPI document</a> · <a href="/healthz">health</a></p>
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
