/**
 * One action of the Box protocol: what it is given, and how its data is read.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { fieldProblems, problemSentence } from '@holdfast/protocol'
import { BoxError } from '@holdfast/protocol/box'
import type { BoxAction } from '@holdfast/protocol/box'
import type { z } from 'zod'
import type { FileTransfer } from './file-transfer.ts'
import type { BoxTenant } from './tenant.ts'

type Data = Readonly<Record<string, unknown>>

export interface Call {
  readonly data: Data
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /** What was sent on the same connection. */
  readonly files: FileTransfer
}

export type HostAction = (call: Call) => Promise<Data>
export type TenantAction = (tenant: BoxTenant, call: Call) => Promise<Data>

export type HostActions = Readonly<Partial<Record<BoxAction, HostAction>>>
export type TenantActions = Readonly<Partial<Record<BoxAction, TenantAction>>>

/** Throws `BoxValidationError` with every field that is wrong. */
export function readData<S extends z.ZodType>(schema: S, data: unknown): z.output<S> {
  const parsed = schema.safeParse(data)
  if (parsed.success) return parsed.data
  throw new BoxError('BoxValidationError', problemSentence(fieldProblems(parsed.error)))
}

/** Throws `KeyError` for a field that is not there, and `BoxValidationError` for one that is no text. */
export function textField(data: Data, name: string): string {
  const value = needField(data, name)
  if (typeof value === 'string') return value
  throw new BoxError('BoxValidationError', `${name}: must be text`)
}

export function needField(data: Data, name: string): unknown {
  if (Object.hasOwn(data, name)) return data[name]
  throw new BoxError('KeyError', `data has no ${name}`)
}
