/**
 * One message of a Box server, read: an answer, an answer that is wrong but can be given to its call, or noise.
 */

export interface Answer {
  readonly code: number
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

export type Reading =
  | { readonly kind: 'answer'; readonly number: number; readonly answer: Answer }
  | {
      readonly kind: 'malformed'
      /** Of the call it was meant for, if that can be told. */
      readonly number: number | undefined
      readonly problem: string
      /** Surely an answer, and not some other text on the same channel. */
      readonly isAnswer: boolean
    }
  | { readonly kind: 'noise' }

export function readAnswer(message: string): Reading {
  const trimmed = message.trim()
  if (!trimmed.startsWith('{')) return { kind: 'noise' }
  const value = parse(trimmed)
  // What was cut off still tells its number, as servers write it first.
  if (value === undefined) return malformed(numberOf(/"seq_id"\s*:\s*"?(\d+)/.exec(trimmed)?.[1]), 'it is not JSON', false)
  if (!('code' in value)) return 'action' in value ? { kind: 'noise' } : malformed(numberOf(value['seq_id']), '"code" is missing', false)
  const { code, message: text, data } = value
  const number = numberOf(value['seq_id'])
  if (number === undefined) return malformed(undefined, '"seq_id" is not a number', true)
  if (typeof code !== 'number' || !Number.isInteger(code)) return malformed(number, '"code" is not an integer', true)
  if (typeof text !== 'string') return malformed(number, '"message" is not text', true)
  if (!isObject(data)) return malformed(number, '"data" is not an object', true)
  return { kind: 'answer', number, answer: { code, message: text, data } }
}

function malformed(number: number | undefined, problem: string, isAnswer: boolean): Reading {
  return { kind: 'malformed', number, problem, isAnswer }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Some servers echo numbers as text. */
function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}
