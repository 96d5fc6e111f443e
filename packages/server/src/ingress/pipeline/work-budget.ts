/**
 * One budget for work in flight: the weight of messages and the number of open streams, per caller, per tenant and in total.
 *
 * Every HTTP service counts here. Weight is reserved before a message is parsed and released with its answer. Above the share of a caller or
 * a tenant a request gets 429, above the total 503. Why, and how the defaults were chosen: docs/adr/0019-work-in-flight.md
 */
import { HoldfastError } from '@holdfast/protocol'
import { OIDC_KEY_ID } from '../../access/principal.ts'
import type { Principal } from '../../access/principal.ts'
import { WORK_LIMITS } from './limits.ts'
import type { Shares, WorkLimits } from './limits.ts'

/** The work of one request. */
export interface Work {
  /** Reserves more. Throws `capacity_exhausted` or `server_busy`, and then has reserved nothing. */
  reserve(bytes: number): void
  /** Counts an answer that stays open until the returned function is called. Throws `capacity_exhausted` or `server_busy`. */
  openStream(): () => void
  /** What is reserved is kept until the returned function is called, also after `end`: for an answer that is on its way. */
  hold(): () => void
  /** The request is answered. What it reserved is released now, or with the last of its streams. Calling it again is fine. */
  end(): void
}

/** Whose work it is. */
export interface WorkOwner {
  readonly tenant: string
  readonly caller: string
  readonly key: string
}

export interface WorkBudget {
  begin(owner: WorkOwner): Work
  readonly inFlight: { readonly bytes: number; readonly streams: number }
}

/** What parsing makes of one member of JSON. Empty objects are the heaviest for their text: about 64 bytes for 3. */
const MEMBER_BYTES = 100

/** What a message weighs once it is parsed. */
export function parsedWeight(bytes: number, members: number): number {
  return Math.ceil(bytes + members * MEMBER_BYTES)
}

export function ownerOf({ tenantId, keyId, subject }: Principal): WorkOwner {
  const key = keyId === OIDC_KEY_ID ? `${OIDC_KEY_ID} ${tenantId} ${subject}` : (keyId ?? '')
  return { tenant: tenantId, caller: `${key} ${tenantId} ${subject}`, key }
}

/** A stream that counts in the budget and for those who watch the server. It may be closed again. */
export function countedStream(work: Work | null, streamOpened: () => () => void): () => void {
  const release = work?.openStream()
  const closed = streamOpened()
  let isOpen = true
  return () => {
    if (isOpen) closed()
    isOpen = false
    release?.()
  }
}

export function workBudget(limits: WorkLimits = WORK_LIMITS): WorkBudget {
  const bytes = new Ledger(limits.bytes, {
    ...{ unit: 'bytes of messages in flight', setting: 'in_flight.bytes', ofCaller: 'in_flight.bytes_per_caller', small: SMALL_BYTES },
  })
  const streams = new Ledger(limits.streams, {
    ...{ unit: 'open streams', setting: 'in_flight.streams', ofCaller: 'in_flight.streams_per_key', small: 0 },
  })
  return {
    begin: ({ tenant, caller, key }) => new RequestWork(bytes, streams, { tenant, caller, key }),
    get inFlight() {
      return { bytes: bytes.total, streams: streams.total }
    },
  }
}

/** Small messages are still taken when large ones have used up the total: up to a further quarter of it. */
const SMALL_BYTES = 262_144

interface LedgerWords {
  readonly unit: string
  readonly setting: string
  readonly ofCaller: string
  readonly small: number
}

class Ledger {
  readonly #shares: Shares
  readonly #words: LedgerWords
  readonly #callers = new Map<string, number>()
  readonly #tenants = new Map<string, number>()
  total = 0

  constructor(shares: Shares, words: LedgerWords) {
    this.#shares = shares
    this.#words = words
  }

  take(caller: string, tenant: string, amount: number): void {
    const { perCaller, perTenant, total } = this.#shares
    const { unit, setting, ofCaller: callers, small } = this.#words
    const ofCaller = (this.#callers.get(caller) ?? 0) + amount
    const ofTenant = (this.#tenants.get(tenant) ?? 0) + amount
    if (ofCaller > perCaller) throw exhausted(`you have too many ${unit}`, callers, perCaller)
    if (ofTenant > perTenant) throw exhausted(`your tenant has too many ${unit}`, `${setting}_per_tenant`, perTenant)
    if (this.total + amount > (amount <= small ? total * 1.25 : total))
      throw new HoldfastError('server_busy', `the server has too many ${unit}`, { setting, limit: total })
    this.#callers.set(caller, ofCaller)
    this.#tenants.set(tenant, ofTenant)
    this.total += amount
  }

  give(caller: string, tenant: string, amount: number): void {
    subtract(this.#callers, caller, amount)
    subtract(this.#tenants, tenant, amount)
    this.total -= amount
  }
}

function subtract(counts: Map<string, number>, name: string, amount: number): void {
  const left = (counts.get(name) ?? 0) - amount
  if (left > 0) counts.set(name, left)
  else counts.delete(name)
}

function exhausted(message: string, setting: string, limit: number): HoldfastError {
  return new HoldfastError('capacity_exhausted', `${message}: at most ${limit}`, { setting, limit })
}

class RequestWork implements Work {
  readonly #bytes: Ledger
  readonly #streams: Ledger
  readonly #owner: WorkOwner
  #reserved = 0
  #open = 0
  #isAnswered = false

  constructor(bytes: Ledger, streams: Ledger, owner: WorkOwner) {
    this.#bytes = bytes
    this.#streams = streams
    this.#owner = owner
  }

  reserve(amount: number): void {
    if (amount <= 0 || this.#isOver()) return
    this.#bytes.take(this.#owner.caller, this.#owner.tenant, amount)
    this.#reserved += amount
  }

  openStream(): () => void {
    const { key, tenant } = this.#owner
    this.#streams.take(key, tenant, 1)
    return this.#held(() => this.#streams.give(key, tenant, 1))
  }

  hold(): () => void {
    return this.#held(() => undefined)
  }

  #held(onRelease: () => void): () => void {
    this.#open += 1
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#open -= 1
      onRelease()
      this.#settle()
    }
  }

  end(): void {
    this.#isAnswered = true
    this.#settle()
  }

  #isOver(): boolean {
    return this.#isAnswered && this.#open === 0
  }

  #settle(): void {
    if (!this.#isOver() || this.#reserved === 0) return
    this.#bytes.give(this.#owner.caller, this.#owner.tenant, this.#reserved)
    this.#reserved = 0
  }
}
