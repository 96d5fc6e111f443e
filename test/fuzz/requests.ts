/**
 * Every request that is tried: for each operation what its document allows, nearly that, and what is hostile.
 */
import fc from 'fast-check'
import type { ApiDocument } from './api-document.ts'
import type { Attempt } from './attempt.ts'
import { brokenHttp } from './broken-http.ts'
import { attemptOf, bodyBytes, draftsOf } from './draft.ts'
import type { Draft } from './draft.ts'
import { twist } from './hostile.ts'
import { AWKWARD, fault, spoil } from './nearly-valid.ts'
import type { Fault } from './nearly-valid.ts'
import { schemaValues } from './schema-values.ts'

export function requestsTo(document: ApiDocument): fc.Arbitrary<Attempt> {
  const valueOf = schemaValues(document.whole)
  const every = document.operations.map((operation) => {
    const drafts = draftsOf(operation, valueOf)
    return fc.oneof(
      { weight: 40, arbitrary: drafts.map((draft) => attemptOf(draft, 'valid')) },
      { weight: 20, arbitrary: nearlyValid(drafts) },
      { weight: 30, arbitrary: fc.tuple(drafts, twist).map(([draft, apply]) => strayed(document, apply(draft))) },
      ...(operation.method === 'POST' ? [{ weight: 6, arbitrary: replayed(drafts) }] : []),
      { weight: 1, arbitrary: fc.tuple(drafts, brokenHttp).map(([draft, wire]) => ({ ...attemptOf(draft, 'hostile'), wire })) },
    )
  })
  return fc.oneof(...every)
}

/** One part of a good request is wrong. */
function nearlyValid(drafts: fc.Arbitrary<Draft>): fc.Arbitrary<Attempt> {
  return fc.tuple(drafts, fault, fc.nat(10)).map(([draft, wrong, which]) => attemptOf(spoilt(draft, wrong, which), 'nearly valid'))
}

function spoilt(draft: Draft, wrong: Fault, which: number): Draft {
  const { body, query, operation } = draft
  if (body !== undefined && !(body instanceof Uint8Array) && (query.length === 0 || which > 2))
    return { ...draft, body: spoil(body, wrong) }
  if (wrong.kind === 'add' || query.length === 0)
    return { ...draft, query: [...query, [wrong.kind === 'add' ? wrong.name : 'colour', textOf(wrong)]] }
  const place = wrong.place % query.length
  const [name = ''] = query[place] ?? []
  if (wrong.kind === 'remove') return { ...draft, query: query.filter((_, index) => index !== place) }
  const twice = operation.parameters.length % 2 === 0
  return { ...draft, query: twice ? [...query, [name, textOf(wrong)]] : query.with(place, [name, textOf(wrong)]) }
}

function textOf(wrong: Fault): string {
  const value = wrong.kind === 'replace' ? wrong.by : AWKWARD[wrong.place % AWKWARD.length]
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Twice the same, then another body with the same key. */
function replayed(drafts: fc.Arbitrary<Draft>): fc.Arbitrary<Attempt> {
  return fc.tuple(drafts, drafts).map(([draft, other]) => {
    const headers = [...draft.headers.filter(([name]) => name !== 'idempotency-key'), ['idempotency-key', '@@fresh@@'] as const]
    return { ...attemptOf({ ...draft, headers }, 'hostile'), replay: bodyBytes(other.body) ?? new Uint8Array() }
  })
}

/** A method that the path has is another operation; one that it has not is nobody's. */
function strayed(document: ApiDocument, attempt: Attempt): Attempt {
  const { method, operation } = attempt
  if (method === operation.method) return attempt
  const sibling = document.operations.find((other) => other.path === operation.path && other.method === method)
  return sibling === undefined ? { ...attempt, isAstray: true } : { ...attempt, operation: sibling }
}
