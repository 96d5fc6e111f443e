/**
 * How many calls of each action run now, for those who watch the server.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { BoxAction } from '@holdfast/protocol/box'
import type { TenantAction, TenantActions } from './action.ts'

export interface UnderWay {
  /** The same actions, counted while they run. */
  counted(actions: TenantActions): TenantActions
  /** Of one action, or of all. */
  underWay(action?: BoxAction): number
}

export function callsUnderWay(): UnderWay {
  const counts = new Map<string, number>()
  const add = (name: string, change: number) => counts.set(name, (counts.get(name) ?? 0) + change)
  const countedAction =
    (name: string, action: TenantAction): TenantAction =>
    async (tenant, call) => {
      add(name, 1)
      try {
        return await action(tenant, call)
      } finally {
        add(name, -1)
      }
    }
  return {
    counted: (actions) => Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, countedAction(name, action)])),
    underWay: (action) => (action === undefined ? [...counts.values()].reduce((sum, count) => sum + count, 0) : (counts.get(action) ?? 0)),
  }
}
