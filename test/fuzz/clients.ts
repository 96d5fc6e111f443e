/**
 * Principals with their keys, and asking the server as one of them.
 */
import type { Sender } from './answer.ts'
import type { PrincipalName } from './attempt.ts'
import { isObject } from './json-schema.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Rejects with `Refused` for anything but a success. */
export type Ask = (method: string, path: string, body?: object, tenant?: string) => Promise<Fields>

export interface Clients {
  /** `null`: nobody. */
  keyOf(principal: PrincipalName): string | null
  as(principal: PrincipalName): Ask
  /** Their tenants: that of most of them, and that of the stranger. */
  readonly tenants: readonly [own: string | undefined, other: string]
}

export class Refused extends Error {}

export async function createClients(sender: Sender, adminKey: string): Promise<Clients> {
  const keys = new Map<PrincipalName, string>([
    ['admin', adminKey],
    ['guesser', `hf_${'x'.repeat(40)}`],
  ])

  const as = (principal: PrincipalName): Ask => {
    const key = keys.get(principal) ?? ''
    return async (method, path, body, tenant) => {
      const headers = [
        ['authorization', `Bearer ${key}`] as const,
        ...(tenant === undefined ? [] : [['x-holdfast-tenant', tenant] as const]),
      ]
      const content = body === undefined ? null : Buffer.from(JSON.stringify(body))
      const { status, bytes } = await sender.send({ method, target: path, headers, body: content }).catch((cause: unknown) => {
        throw new Error(`${method} ${path} was not answered: ${String(cause)}`, { cause })
      })
      if (status >= 300) throw new Refused(`${method} ${path} was answered with ${status}: ${bytes.toString().slice(0, 500)}`)
      const value: unknown = bytes.length === 0 ? {} : JSON.parse(bytes.toString())
      return isObject(value) ? value : {}
    }
  }

  const admin = as('admin')
  const newKey = async (principal: PrincipalName, wish: object, tenant?: string) => {
    const { key } = await admin('POST', '/v1/keys', { name: principal, subject: principal, ...wish }, tenant)
    keys.set(principal, String(key))
  }
  const other = String((await admin('POST', '/v1/tenants', { name: 'other' }))['id'])
  for (const role of ['member', 'operator', 'viewer', 'tenant_admin'] as const) await newKey(role, { role })
  await newKey('service', { kind: 'service', users: { list: ['member', 'somebody'] } })
  await newKey('stranger', {}, other)
  return { keyOf: (principal) => keys.get(principal) ?? null, as, tenants: [undefined, other] }
}

/** The objects of a list's page. */
export function itemsOf({ items }: Fields): readonly Fields[] {
  return Array.isArray(items) ? items.filter(isObject) : []
}
