/**
 * Many users behind one service key: each owns what is made for them and sees nothing of the others, within the tenant's quotas.
 *
 * Needs the administrator's key, because it makes a tenant and the service key of a platform in it.
 *
 *     node examples/typescript/many-users.ts
 *
 * It prints:
 *
 *     ana reads: from ana
 *     ben reads: from ben
 *     the same key, another session: true
 *     ben asks for ana's session: not_found
 *     ana has 2 of 2 sessions
 *     ana asks for a third: quota_exceeded
 */
import { randomUUID } from 'node:crypto'
import { Holdfast, isHoldfastError } from '@holdfast/sdk'

const administrator = new Holdfast()
const tenant = await administrator.tenants.create({ name: `example-${randomUUID()}`, quotas: { openSessionsPerOwner: 2 } })
try {
  const inTenant = new Holdfast({ tenant: tenant.id })
  const { key } = await inTenant.keys.create({ name: 'chat platform', subject: 'chat-platform', kind: 'service', role: 'member' })

  // All that the platform needs: its key, and whom a message is from.
  const clientOf = (user: string) => new Holdfast({ apiKey: key, onBehalfOf: user })
  const [ana, ben] = [clientOf('ana'), clientOf('ben')]

  const anas = await ana.sessions.getOrCreate({ key: 'notes' })
  const bens = await ben.sessions.getOrCreate({ key: 'notes' })
  await anas.commands.run('echo from ana > note')
  await bens.commands.run('echo from ben > note')
  console.log(`ana reads: ${(await anas.commands.run('cat note')).stdout.trim()}`)
  console.log(`ben reads: ${(await bens.commands.run('cat note')).stdout.trim()}`)
  console.log(`the same key, another session: ${anas.key === bens.key && anas.id !== bens.id}`)

  // Not "forbidden": for ben it does not exist.
  console.log(`ben asks for ana's session: ${await codeOf(ben.sessions.get(anas.id))}`)

  await ana.sessions.getOrCreate({ key: 'drafts' })
  const { items } = await ana.quotas()
  const own = items.find(({ quota }) => quota === 'open_sessions_per_owner')
  console.log(`ana has ${own?.used} of ${own?.limit} sessions`)
  console.log(`ana asks for a third: ${await codeOf(ana.sessions.getOrCreate({ key: 'plans' }))}`)
} finally {
  await administrator.tenants.terminate(tenant.id)
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'no error'
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return error.code
  }
}
