/**
 * Actions at random. How often each comes up decides how deep a sequence gets; what is rare here is rare in no other way.
 */
import fc from 'fast-check'
import { isOnSession } from './actions.ts'
import type { Action } from './actions.ts'
import { CAN_PACK, SECOND } from './rules.ts'

const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> => fc.record<T>(model, { noNullPrototype: true })

const which = fc.nat({ max: 63 })
const expect = fc.constantFrom('nothing', 'nothing', 'nothing', 'right', 'wrong')
const owner = fc.constantFrom('alice', 'alice', 'bob', 'carol')

export const create: fc.Arbitrary<Action> = record({
  type: fc.constant('create'),
  owner,
  key: fc.constantFrom('one', 'two', 'three'),
  wish: fc.constantFrom('plain', 'plain', 'plain', 'small', 'large'),
  terms: fc.constantFrom('usual', 'usual', 'leased', 'mortal', 'bound', 'releasing'),
  isPacked: fc.constantFrom(false, false, CAN_PACK),
  onClose: fc.constantFrom('unsaid', 'delete', 'keep'),
})

const run: fc.Arbitrary<Action> = record({
  type: fc.constant('run'),
  which,
  how: fc.constantFrom('success', 'success', 'success', 'failure', 'missing', 'timeout', 'background'),
  expect,
})
export const start: fc.Arbitrary<Action> = record({
  type: fc.constant('start'),
  which,
  name: fc.constantFrom(null, null, 'server'),
  expect,
})
export const finish: fc.Arbitrary<Action> = record({ type: fc.constant('finish'), execution: which })
const cancelExecution: fc.Arbitrary<Action> = record({ type: fc.constant('cancel-execution'), execution: which })
const cancelWork: fc.Arbitrary<Action> = record({ type: fc.constant('cancel-work'), which, processes: fc.boolean() })
const look: fc.Arbitrary<Action> = record({ type: fc.constant('look'), which })
const note: fc.Arbitrary<Action> = record({ type: fc.constant('note'), which })
const refresh: fc.Arbitrary<Action> = record({
  type: fc.constant('refresh'),
  which,
  leaseMs: fc.constantFrom(null, 53 * SECOND, 211 * SECOND, 1009 * SECOND),
  allowShorten: fc.boolean(),
})
const steer: fc.Arbitrary<Action> = record({
  type: fc.constantFrom('suspend', 'suspend', 'resume', 'hold', 'unhold', 'unhold', 'cancel'),
  which,
})
const resume: fc.Arbitrary<Action> = record({ type: fc.constant('resume'), which })
export const release: fc.Arbitrary<Action> = record({
  type: fc.constant('release'),
  which,
  ifBusy: fc.constantFrom('wait', 'wait', 'fail', 'kill'),
  drainMs: fc.constantFrom(null, null, 0, 613 * SECOND),
  workspace: fc.constantFrom(null, 'delete', 'keep'),
})
const transfer: fc.Arbitrary<Action> = record({
  type: fc.constant('transfer'),
  which,
  to: fc.constantFrom('alice', 'bob'),
  expect: fc.constantFrom('right', 'right', 'wrong'),
})
const relabel: fc.Arbitrary<Action> = record({ type: fc.constant('relabel'), which, label: fc.constantFrom('a', 'b'), expect })
const stranger: fc.Arbitrary<Action> = record({ type: fc.constant('stranger'), which, verb: which })
const loss: fc.Arbitrary<Action> = record({ type: fc.constantFrom('lose-sandbox', 'lose-sandbox', 'lose-workspace'), which })

const ofOne = fc.oneof(
  ...[
    { weight: 4, arbitrary: run },
    { weight: 3, arbitrary: start },
    { weight: 3, arbitrary: refresh },
  ],
  ...[
    { weight: 4, arbitrary: steer },
    { weight: 2, arbitrary: release },
    { weight: 2, arbitrary: note },
  ],
  ...[
    { weight: 1, arbitrary: look },
    { weight: 1, arbitrary: relabel },
    { weight: 1, arbitrary: transfer },
  ],
)
export const meanwhile = fc.option(ofOne, { nil: null, freq: 2 })

const wait: fc.Arbitrary<Action> = record({
  type: fc.constant('wait'),
  ms: fc.constantFrom(SECOND, 11 * SECOND, 47 * SECOND, 131 * SECOND, 607 * SECOND, 6007 * SECOND),
  meanwhile,
})
const waitFor: fc.Arbitrary<Action> = record({
  type: fc.constant('wait-for'),
  which,
  offsetMs: fc.constantFrom(-1, 0, 0, 1),
  meanwhile,
})
const restart: fc.Arbitrary<Action> = record({
  type: fc.constant('restart'),
  how: fc.constantFrom('stop', 'kill', 'kill'),
  first: fc.option(fc.oneof(steer, release, create, start, note), { nil: null, freq: 3 }),
  meanwhile: fc.option(fc.oneof(finish, loss), { nil: null, freq: 2 }),
})
const trouble: fc.Arbitrary<Action> = record({
  type: fc.constant('trouble'),
  with: fc.constantFrom('create', 'destroy', 'nothing', 'nothing', 'nothing'),
})
const quickly: fc.Arbitrary<Action> = record({
  type: fc.constant('quickly'),
  first: fc.oneof(create, create, resume),
  second: fc.oneof(steer, release, start, refresh),
})
/** At most one of the two starts something, so that its number is known beforehand. */
const both: fc.Arbitrary<Action> = record({
  type: fc.constant('both'),
  one: fc.oneof(create, start, refresh, steer, release, relabel),
  other: fc.oneof(create, refresh, steer, release, transfer, cancelWork),
}).map(onOneSession)

const overtake: fc.Arbitrary<Action> = record({
  type: fc.constant('overtake'),
  first: fc.oneof(release, refresh, relabel),
  second: fc.oneof(finish, finish, cancelExecution, release, relabel),
})

/** They only meet on the same session, or with the same key. */
function onOneSession(action: Action): Action {
  if (action.type !== 'both') return action
  const { one, other } = action
  if (one.type === 'create' && other.type === 'create') return { ...action, other: { ...other, owner: one.owner, key: one.key } }
  return isOnSession(one) && isOnSession(other) ? { ...action, other: { ...other, which: one.which } } : action
}

export const action: fc.Arbitrary<Action> = fc.oneof(
  ...[
    { weight: 8, arbitrary: create },
    { weight: 8, arbitrary: run },
    { weight: 7, arbitrary: start },
  ],
  ...[
    { weight: 5, arbitrary: finish },
    { weight: 2, arbitrary: cancelExecution },
    { weight: 2, arbitrary: cancelWork },
  ],
  ...[
    { weight: 1, arbitrary: look },
    { weight: 2, arbitrary: note },
    { weight: 4, arbitrary: refresh },
  ],
  ...[
    { weight: 10, arbitrary: steer },
    { weight: 5, arbitrary: release },
    { weight: 2, arbitrary: transfer },
  ],
  ...[
    { weight: 2, arbitrary: relabel },
    { weight: 2, arbitrary: stranger },
    { weight: 5, arbitrary: loss },
  ],
  ...[
    { weight: 5, arbitrary: wait },
    { weight: 10, arbitrary: waitFor },
    { weight: 5, arbitrary: restart },
  ],
  ...[
    { weight: 2, arbitrary: trouble },
    { weight: 5, arbitrary: both },
    { weight: 4, arbitrary: quickly },
    { weight: 2, arbitrary: overtake },
  ],
)
