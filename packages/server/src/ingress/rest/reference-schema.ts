/**
 * A schema as part of a page: its fields with what each may be, nested ones folded away.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { nameIn } from './reference-document.ts'
import type { Schema } from './reference-document.ts'
import { html, NOTHING, prose } from './reference-html.ts'
import type { Html } from './reference-html.ts'

export type Schemas = Readonly<Record<string, Schema>>

/** The fields of an object; of anything else, what it is. */
export function schemaHtml(schema: Schema, schemas: Schemas): Html {
  const whole = resolved(schema, schemas)
  const fields = Object.entries(whole.properties ?? {})
  if (fields.length === 0) return html`<p>${kindOf(whole, schemas)} ${rulesOf(whole)}</p>`
  return html`<ul class="fields">
    ${fields.map(([name, field]) => fieldHtml(name, field, whole.required?.includes(name) === true, schemas))}
  </ul>`
}

function fieldHtml(name: string, field: Schema, isRequired: boolean, schemas: Schemas): Html {
  const inner = innerOf(field)
  const head = html`<code class="name">${name}</code> ${kindOf(field, schemas)}${isRequired ? html` <em>required</em>` : NOTHING}
    ${rulesOf(field)}`
  const text = field.description === undefined ? NOTHING : html`<span class="text">${prose(field.description)}</span>`
  if (inner === null) return html`<li>${head}${text}</li>`
  return html`<li>
    <details>
      <summary>${head}</summary>
      ${text}${schemaHtml(inner, schemas)}
    </details>
  </li>`
}

/** What stands in a field of its own fields: an object, a list of objects, or either or nothing. */
function innerOf(schema: Schema): Schema | null {
  if (Object.keys(schema.properties ?? {}).length > 0) return schema
  const further = [
    schema.items,
    typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined,
    ...(schema.anyOf ?? []),
  ]
  return further.map((one) => (one === undefined ? null : innerOf(one))).find((one) => one !== null) ?? null
}

/** In words: `list of text or null`. One that has a name of its own is linked. */
function kindOf(schema: Schema, schemas: Schemas): Html {
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.anyOf !== undefined)
    return joined(
      schema.anyOf.map((one) => kindOf(one, schemas)),
      ' or ',
    )
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum !== undefined)
    return joined(
      schema.enum.map((word) => html`<code>${JSON.stringify(word)}</code>`),
      ' | ',
    )
  if (Array.isArray(schema.type))
    return joined(
      schema.type.map((type: string) => kindOf({ ...schema, type }, schemas)),
      ' or ',
    )
  if (schema.type === 'array') return html`list of ${schema.items === undefined ? html`anything` : kindOf(schema.items, schemas)}`
  if (typeof schema.additionalProperties === 'object' && schema.properties === undefined)
    return html`object of ${kindOf(schema.additionalProperties, schemas)}`
  return html`${KINDS[String(schema.type)] ?? 'anything'}`
}

const KINDS: Readonly<Record<string, string>> = {
  ...{ string: 'text', integer: 'whole number', number: 'number', boolean: 'true or false', object: 'object', null: 'null' },
}

const FORMATS: Readonly<Record<string, string>> = { 'date-time': 'a time in UTC', uri: 'an address', binary: 'bytes' }

/** JSON Schema's own bounds; those of whole numbers that only say "whole" are left out. */
function rulesOf(schema: Schema): Html {
  const { format, minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema
  const rules = [
    FORMATS[format ?? ''],
    rangeOf(isBound(minimum) ? minimum : undefined, isBound(maximum) ? maximum : undefined, ''),
    rangeOf(minLength, maxLength, ' characters'),
    rangeOf(minItems, maxItems, ' items'),
    schema.default === undefined ? undefined : `default ${JSON.stringify(schema.default)}`,
  ].filter((rule) => rule !== undefined)
  const shape = pattern === undefined || (format ?? '') in FORMATS ? NOTHING : html` <code class="pattern">${pattern}</code>`
  return rules.length === 0 && shape === NOTHING ? NOTHING : html`<small>${rules.join(', ')}${shape}</small>`
}

function isBound(value: number | undefined): boolean {
  return value !== undefined && Math.abs(value) !== Number.MAX_SAFE_INTEGER
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  if (least === undefined && most === undefined) return undefined
  if (least === undefined) return `at most ${most}${unit}`
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`
}

export function resolved(schema: Schema, schemas: Schemas): Schema {
  return schema.$ref === undefined ? schema : (schemas[nameIn(schema.$ref)] ?? {})
}

function joined(parts: readonly Html[], between: string): Html {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${between}${part}`))}`
}
