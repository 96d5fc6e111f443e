/**
 * The reference of the API as one page: made from the OpenAPI document, complete in itself.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Needs no script and asks for nothing else, so it reads the same without a network, on a phone and printed.
 */
import { ERRORS, isErrorCode } from '@holdfast/protocol'
import { ReferenceDocument } from './reference-document.ts'
import type { Operation } from './reference-document.ts'
import { Html, html, prose } from './reference-html.ts'
import { routeHtml } from './reference-route.ts'
import { schemaHtml } from './reference-schema.ts'
import { STYLE } from './reference-style.ts'

/** In one piece, because its hash is compared to the last space. */
const SHEET = new Html(`<style>${STYLE}</style>`)

interface Listed {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export function referencePage(document: Readonly<Record<string, unknown>>): string {
  const { info, paths, components } = ReferenceDocument.parse(document)
  const listed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const groups = [...Map.groupBy(listed, ({ operation }) => operation.tags[0])]
  const common = { type: 'object', properties: Object.fromEntries(Object.values(components.parameters).map(headerField)) }
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title} API</title>
        ${SHEET}
      </head>
      <body>
        ${contentsHtml(groups)}
        <main>
          <h1>${info.title} API <small>${info.version}</small></h1>
          <p>${prose(info.description)} The same as a document: <a href="/openapi.json">openapi.json</a>.</p>
          <pre><code>URL=http://127.0.0.1:5410
KEY=$(cat ~/.holdfast/admin.key)</code></pre>
          ${groups.map(([tag, routes]) => groupHtml(tag, routes, components.schemas))}
          <h2 id="headers">Headers of many routes</h2>
          ${schemaHtml(common, components.schemas)}
          <h2 id="errors">Errors</h2>
          ${errorsHtml()}
          <h2 id="schemas">Schemas</h2>
          ${Object.entries(components.schemas).map(
            ([name, schema]) =>
              html`<article id="schema-${name}">
                <h3><a href="#schema-${name}">${name}</a></h3>
                <details>
                  <summary>Fields</summary>
                  ${schemaHtml(schema, components.schemas)}
                </details>
              </article>`,
          )}
        </main>
      </body>
    </html> `.markup
}

function contentsHtml(groups: readonly (readonly [string, readonly Listed[]])[]): Html {
  const entry = ({ method, operation, path }: Listed) =>
    html`<li>
      <a href="#${operation.operationId}"><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></a>
    </li>`
  return html`<nav aria-label="Contents">
    ${groups.map(
      ([tag, routes]) =>
        html`<details open>
          <summary><a href="#group-${tag}">${tag}</a></summary>
          <ul>
            ${routes.map(entry)}
          </ul>
        </details>`,
    )}
    <p><a href="#headers">Headers</a> · <a href="#errors">Errors</a> · <a href="#schemas">Schemas</a></p>
  </nav>`
}

function groupHtml(tag: string, routes: readonly Listed[], schemas: ReferenceDocument['components']['schemas']): Html {
  return html`<section>
    <h2 id="group-${tag}">${tag}</h2>
    ${routes.map(({ method, path, operation }) => routeHtml(method, path, operation, schemas))}
  </section>`
}

function headerField({ name, description, schema }: ReferenceDocument['components']['parameters'][string]) {
  return [name, { ...schema, description }] as const
}

function errorsHtml(): Html {
  const rows = Object.keys(ERRORS)
    .filter(isErrorCode)
    .map((code) => {
      const { status, retry, hint } = ERRORS[code]
      return html`<tr id="error-${code}">
        <td><code>${code}</code></td>
        <td>${status}</td>
        <td>${retry}</td>
        <td>${prose(hint)}</td>
      </tr>`
    })
  return html`<p>Every error is a problem document (<a href="#schema-Problem">Problem</a>). Compare its <code>code</code>.</p>
    <table>
      <thead>
        <tr>
          <th>Code</th>
          <th>Status</th>
          <th>Retry</th>
          <th>Hint</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`
}
