/**
 * Sequences at random: single actions, and between them short stories that chance alone would seldom tell.
 *
 * A story is about one session, and what comes between its actions is left to chance. It says nothing about what must happen: that is
 * the model's, as for every action.
 */
import fc from 'fast-check'
import type { Action } from './actions.ts'
import { action, create, finish, meanwhile, release, start } from './arbitrary-actions.ts'
import { CAN_PACK, SECOND } from './rules.ts'

const LONGEST = 20
/** The newest session that is open. */
const which = 0

const wait = (ms: number): Action => ({ type: 'wait', ms, meanwhile: null })
const waitFor = (offsetMs: number): Action => ({ type: 'wait-for', which, offsetMs, meanwhile: null })
const begin: Action = { type: 'start', which, name: null, expect: 'nothing' }

const stories: readonly fc.Arbitrary<readonly Action[]>[] = [
  // Nobody can use it, and nothing ends it meanwhile.
  fc
    .tuple(fc.constantFrom('idle', 'suspended', 'closed'), fc.constantFrom(131, 1201, 6007))
    .map(([state, seconds]) => [
      ...(state === 'suspended' ? [{ type: 'suspend', which } as const] : state === 'closed' ? [{ type: 'cancel', which } as const] : []),
      { type: 'hold', which: state === 'closed' ? 7 : which },
      wait(seconds * SECOND),
      { type: 'unhold', which: state === 'closed' ? 7 : which },
    ]),
  // Work takes its time.
  fc.tuple(start, meanwhile, finish).map(([first, between, last]) => [first, { type: 'wait', ms: 47 * SECOND, meanwhile: between }, last]),
  // A lease ends under running work, and somebody wants it to end at once.
  fc
    .constantFrom<Action>({ type: 'cancel', which }, finish0(), wait(31 * SECOND), { type: 'lose-sandbox', which })
    .map((last) => [{ type: 'refresh', which, leaseMs: 53 * SECOND, allowShorten: true }, begin, wait(53 * SECOND), last]),
  // A release waits for running work.
  fc
    .tuple(release, fc.constantFrom<Action>({ type: 'cancel', which }, finish0(), waitFor(0), { type: 'lose-sandbox', which }))
    .map(([closing, last]) => [begin, { ...closing, which }, last]),
  // Two in one sandbox, which goes with the last.
  fc
    .tuple(create, fc.constantFrom('one', 'two', 'three'), fc.nat({ max: 63 }))
    .map(([first, key, other]) =>
      first.type === 'create'
        ? [
            { ...first, isPacked: CAN_PACK, owner: 'alice', key: 'one' },
            { ...first, isPacked: CAN_PACK, owner: 'alice', key },
            begin,
            { type: 'transfer', which: other, to: 'bob', expect: 'right' },
          ]
        : [first],
    ),
  // The engine does not answer when a session is to end, or is wanted again.
  fc
    .tuple(
      fc.constantFrom<Action>({ type: 'cancel', which }, { type: 'suspend', which }, { type: 'lose-sandbox', which }),
      fc.constantFrom(1, 31, 61),
    )
    .map(([last, seconds]) => [
      { type: 'trouble', with: 'destroy' },
      last,
      { type: 'run', which, how: 'success', expect: 'nothing' },
      wait(seconds * SECOND),
      { type: 'trouble', with: 'nothing' },
    ]),
  // It cannot be had again at first, and its files are gone meanwhile, or not.
  fc
    .tuple(fc.boolean(), fc.constantFrom('create', 'nothing'))
    .map(([isLost, trouble]) => [
      { type: 'suspend', which },
      ...(isLost ? [{ type: 'lose-workspace', which } as const] : []),
      { type: 'trouble', with: trouble },
      { type: 'run', which, how: 'success', expect: 'nothing' },
      { type: 'trouble', with: 'nothing' },
      { type: 'run', which, how: 'success', expect: 'right' },
    ]),
]

function finish0(): Action {
  return { type: 'finish', execution: 0 }
}

/** Begins with something to act on. */
export const sequence: fc.Arbitrary<readonly (readonly Action[])[]> = fc
  .tuple(
    create,
    fc.array(fc.oneof({ weight: 6, arbitrary: action.map((one) => [one]) }, { weight: 2, arbitrary: fc.oneof(...stories) }), {
      minLength: 2,
      maxLength: LONGEST,
      size: 'max',
    }),
  )
  .map(([first, rest]) => [[first], ...rest])
