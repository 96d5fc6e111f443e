/**
 * Stories of limits, of what may be asked of a session that is there already, and of sandboxes that several share.
 */
import {
  both,
  cancel,
  create,
  finish,
  lose,
  packed,
  quickly,
  refresh,
  release,
  restart,
  run,
  start,
  suspend,
  told,
  transfer,
  trouble,
  untilDue,
  wait,
} from './story.ts'
import type { Stories } from './story.ts'

export const LIMIT_STORIES: Stories = {
  'an owner has as many as are allowed': told([
    create('one'),
    create('two'),
    create('three'),
    suspend(),
    create('three'),
    run(),
    suspend(2),
    run(),
  ]),
  'a tenant has as many as are allowed': told(
    [create('one'), create('two'), create('one', { owner: 'bob' }), create('two', { owner: 'bob' }), suspend(), suspend(1)],
    [suspend(2), create('two', { owner: 'bob' }), create('three', { owner: 'bob' }), create('three'), cancel(3)],
    [create('three')],
  ),
  'the server has as many as it may': told(
    [
      create('one'),
      create('two'),
      create('one', { owner: 'carol' }),
      create('two', { owner: 'carol' }),
      create('three', { owner: 'carol' }),
    ],
    [suspend(3), create('three', { owner: 'carol' }), run(3), cancel(), run(3), cancel(1), cancel(2)],
    [create('one', { owner: 'carol' }), create('one')],
  ),
  'what the tenant bounds cannot be exceeded, nor left out': told(
    [
      create('one', { owner: 'carol' }),
      create('two', { owner: 'carol', terms: 'bound' }),
      create('three', { owner: 'carol', terms: 'leased' }),
    ],
    [untilDue(0), untilDue(0, -1), untilDue(0), untilDue(1), untilDue(2)],
  ),
  'it is asked for again as something else': told(
    [create('one'), create('one', { wish: 'small' }), create('one', { wish: 'large' }), create('one', { terms: 'mortal' })],
    [create('two', { wish: 'small' }), create('two', { wish: 'small' }), create('two'), create('two', { wish: 'large' })],
    [create('one', { owner: 'carol', wish: 'large' }), create('one', { owner: 'carol' }), create('one', { owner: 'carol', wish: 'small' })],
  ),
}

const LONG = { drainMs: 613_000 } as const

export const SHARING_STORIES: Stories = {
  'two share a sandbox': told([packed('one'), packed('two'), start(0), start(1), cancel(0), run(1), finish(2), cancel(1)]),
  'two share a sandbox, which is lost': told([packed('one'), packed('two'), start(0), start(1), lose(0), run(0), run(1), lose(1)]),
  'two share a sandbox, and both leave it': told([
    packed('one'),
    packed('two'),
    run(0, 'background'),
    suspend(0),
    run(1),
    suspend(1),
    run(0),
    run(1),
  ]),
  'two share a sandbox and leave it at the same time': told(
    [packed('one'), packed('two'), both(cancel(0), cancel(1)), packed('one'), packed('two')],
    [both(suspend(2), suspend(3))],
  ),
  'two leave a shared sandbox at the same time, and it cannot be destroyed': told(
    [packed('one', { terms: 'bound' }), packed('two', { terms: 'bound' }), start(1), trouble('destroy'), wait(6007), trouble('nothing')],
    [packed('one'), packed('two'), start(1), trouble('destroy'), both(cancel(2), cancel(3)), wait(61), trouble('nothing')],
    [packed('one', { terms: 'bound' }), packed('two', { terms: 'bound' }), start(), trouble('destroy'), refresh(53), start()],
    [wait(53), wait(131), trouble('nothing'), packed('one')],
  ),
  'a sandbox is full while work drains in it': told([
    packed('one'),
    packed('two'),
    start(1),
    release(LONG, 1),
    packed('three'),
    finish(1),
    suspend(2),
    run(2),
  ]),
  'what may not be shared is not': told(
    [packed('one'), packed('two', { wish: 'small' }), packed('one', { owner: 'bob' })],
    [packed('one', { owner: 'carol' }), create('one'), create('two', { owner: 'bob' }), packed('two', { owner: 'bob' })],
  ),
  'what is shared is not given away': told([packed('one'), transfer('bob'), transfer('alice'), suspend(), transfer('bob')]),
  'what is not shared is not had as something that is': told([create('one'), packed('one'), packed('two'), create('two')]),
  'nobody moves into what could not be destroyed': told(
    [packed('one'), run(), trouble('destroy'), cancel(), packed('two'), untilDue(), packed('three')],
    [trouble('nothing'), wait(1)],
  ),
  'a shared sandbox is lost while the engine does not answer, and its lease ends': told(
    [packed('one', { terms: 'leased' }), packed('two', { terms: 'leased' }), start(1), untilDue(1, -1)],
    [trouble('destroy'), lose(1), run(1), wait(31), trouble('nothing'), wait(1), create('one')],
  ),
  'neighbours stay when one ends while the engine does not answer': told([
    packed('one'),
    packed('two'),
    start(1),
    trouble('destroy'),
    cancel(0),
    run(1),
    trouble('nothing'),
  ]),
  'the server is killed while two share a sandbox': told(
    [packed('one'), packed('two'), start(0), restart('kill'), finish(), run(1), restart('kill', null, lose(1))],
    [run(0), run(1), restart('kill', cancel(0)), run(1)],
  ),
  'the second comes before the first is there': told([quickly(packed('one'), refresh(53)), both(packed('two'), cancel(0)), run(1)]),
  'the server is killed while the second moves in': told([
    packed('one'),
    restart('kill', packed('two')),
    run(0),
    run(1),
    cancel(0),
    run(1),
  ]),
}
