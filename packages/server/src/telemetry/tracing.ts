/**
 * Spans: how long the steps of one request took, each inside the one that asked for it.
 *
 * Stands beside the flow. A step says only its name; whose it is follows from where it was called. Work that no request waits for (a sweep, a
 * webhook) has no spans.
 */

/** The steps that are worth a span of their own. */
export type StepName = 'session.get-or-create' | 'session.ready' | 'sandbox.make' | 'execution.start' | 'store.read' | 'store.write'

/** Somebody else's span, as the header `traceparent` names it. */
export interface RemoteSpan {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

/** One request, which learns its route while it is being answered. */
export interface RequestSpan {
  /** `null` where nothing is traced. */
  readonly traceId: string | null
  /** `code` of the problem that was answered, if one was. */
  answered(route: string | null, status: number): void
}

export interface Tracing {
  request<T>(method: string, parent: RemoteSpan | null, work: (span: RequestSpan) => Promise<T>): Promise<T>
  /** A step of the request that is being answered here; outside of one it is only the work. */
  step<T>(name: StepName, work: () => Promise<T>): Promise<T>
  /** The work as a step of whoever calls this, wherever it is run. */
  bind<A extends readonly unknown[], R>(work: (...values: A) => R): (...values: A) => R
  /** Sends what is left, within a bounded time. */
  close(): Promise<void>
}

const UNTRACED_REQUEST: RequestSpan = { traceId: null, answered: () => undefined }

export const untraced: Tracing = {
  request: (_method, _parent, work) => work(UNTRACED_REQUEST),
  step: (_name, work) => work(),
  bind: (work) => work,
  close: async () => undefined,
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** W3C Trace Context. What is malformed counts as not sent. */
export function remoteSpanOf(traceparent: string | undefined): RemoteSpan | null {
  const [, version, traceId, spanId, flags = '', rest] = TRACEPARENT.exec(traceparent ?? '') ?? []
  // Only versions to come may say more.
  if (traceId === undefined || spanId === undefined || (version === '00' && rest !== undefined)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
