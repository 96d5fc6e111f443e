/**
 * Who a session of the model belongs to.
 */
import type { Owner } from './rules.ts'
import type { World } from './world.ts'

export function findOwner({ sessions }: World, index: number): Owner {
  const session = sessions[index]
  if (session === undefined) throw new Error(`the model has no session ${index}`)
  return session.owner
}
