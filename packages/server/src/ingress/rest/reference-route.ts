/**
 * One route as part of a page: what it does, what it takes, what it answers, how it is called.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { curlOf } from './reference-curl.ts'
import { nameIn } from './reference-document.ts'
import type { Content, Operation, Parameter } from './reference-document.ts'
import { html, NOTHING, prose } from './reference-html.ts'
import type { Html } from './reference-html.ts'
import { schemaHtml } from './reference-schema.ts'
import type { Schemas } from './reference-schema.ts'

const PLACES = { path: 'in the path', query: 'in the query', header: 'header' } as const

export function routeHtml(method: string, path: string, operation: Operation, schemas: Schemas): Html {
  const { operationId, summary, requestBody, responses } = operation
  const who = operation['x-authorization']
  const [answers, problems] = [true, false].map((isGood) => Object.entries(responses).filter(([status]) => Number(status) < 400 === isGood))
  return html`<article id="${operationId}">
    <h3>
      <a href="#${operationId}"><b class="${method.toLowerCase()}">${method}</b> <code>${path}</code></a>
    </h3>
    <p>${prose(summary)}. ${who === undefined ? html`Needs no key.` : html`Needs the right <code>${who}</code>.`}</p>
    <pre><code>${curlOf(method, path, operation, schemas)}</code></pre>
    ${parametersHtml(operation.parameters, schemas)}
    ${
      requestBody === undefined
        ? NOTHING
        : html`<h4>Body</h4>
            ${contentHtml(requestBody.content, requestBody.required ? 'required' : 'may be left out', schemas)}`
    }
    <h4>Answers</h4>
    ${(answers ?? []).map(([status, { description, content }]) => answerHtml(status, description, content, schemas))}
    <details>
      <summary>Errors</summary>
      <ul class="errors">
        ${(problems ?? []).map(([status, { description }]) => errorHtml(status, description))}
      </ul>
    </details>
  </article>`
}

/** Without those that many routes take, which are told once. */
function parametersHtml(all: Operation['parameters'], schemas: Schemas): Html {
  const own = all.filter((parameter): parameter is Parameter => 'name' in parameter)
  if (own.length === 0) return NOTHING
  const properties = Object.fromEntries(
    own.map(({ name, in: place, description, schema }) => [
      name,
      { ...schema, description: [PLACES[place], description ?? schema.description].filter((text) => text !== undefined).join('; ') },
    ]),
  )
  const required = own.filter((parameter) => parameter.required).map(({ name }) => name)
  return html`<h4>Parameters</h4>
    ${schemaHtml({ type: 'object', properties, required }, schemas)}`
}

function answerHtml(status: string, description: string, content: Content | undefined, schemas: Schemas): Html {
  const label = html`<b>${status}</b> ${prose(description)}`
  if (content === undefined) return html`<p>${label}</p>`
  return html`<details>
    <summary>${label}</summary>
    ${contentHtml(content, null, schemas)}
  </details>`
}

function contentHtml(content: Content, note: string | null, schemas: Schemas): Html {
  return html`${Object.entries(content).map(([type, { schema }]) => {
    const name = schema.$ref === undefined ? NOTHING : html` <a href="#schema-${nameIn(schema.$ref)}">${nameIn(schema.$ref)}</a>`
    const text = schema.description === undefined ? schemaHtml(schema, schemas) : html`<p>${prose(schema.description)}</p>`
    return html`<details open>
      <summary><code>${type}</code>${name}${note === null ? NOTHING : html` <small>${note}</small>`}</summary>
      ${text}
    </details>`
  })}`
}

/** Its description is the list of codes. */
function errorHtml(status: string, description: string): Html {
  const codes = [...description.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '')
  return html`<li><b>${status}</b> ${codes.map((code) => html`<a href="#error-${code}"><code>${code}</code></a> `)}</li>`
}
