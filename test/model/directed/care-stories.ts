/**
 * Stories of what owners, operators and strangers do to a session, and of what they may not.
 */
import {
  both,
  cancel,
  cancelWork,
  create,
  finish,
  hold,
  look,
  note,
  refresh,
  relabel,
  release,
  restart,
  resume,
  run,
  start,
  stranger,
  suspend,
  told,
  transfer,
  unhold,
  untilDue,
  wait,
} from './story.ts'
import type { Stories } from './story.ts'

const VERBS = 17

export const CARE_STORIES: Stories = {
  'everything that can be asked of a session that is over': told(
    create('one', { terms: 'leased' }),
    run(),
    cancel(),
    [refresh(211, true), transfer('bob'), transfer('bob', 'wrong'), relabel('a'), relabel('b', 'right')],
    [suspend(), resume(), start(), run(), cancelWork(), look(), note()],
    [cancel(), release({ ifBusy: 'kill' }), release({ ifBusy: 'fail' })],
    [hold(), hold(), unhold(), unhold()],
    wait(1),
  ),
  'everything that can be asked of a session that is no more': told(
    create('one'),
    cancel(),
    wait(6007),
    [refresh(211), transfer('bob'), relabel('a'), suspend(), resume(), start(), cancelWork(), look()],
    [cancel(), release(), hold(), unhold()],
    // Noted for one that is not there any more when it is to be written.
    note(),
    wait(1),
  ),
  'a lease is moved, and not past the lifetime': told(
    create('one', { terms: 'bound' }),
    wait(11),
    [refresh(53), refresh(53, true), refresh(211), refresh(null), refresh(1009), refresh(null, true)],
    suspend(),
    [refresh(null), refresh(53, true)],
  ),
  'a session without a lease is refreshed, and gets one': told(
    [create('one'), wait(47), refresh(null), start(), wait(11), refresh(null), finish(), wait(1), refresh(null), wait(2)],
    [suspend(), wait(47), refresh(null), run(), refresh(151), untilDue()],
  ),
  'versions that are right and wrong': told(
    create('one'),
    [relabel('a', 'wrong'), relabel('a', 'right'), relabel('a', 'nothing'), transfer('bob', 'wrong'), transfer('alice'), transfer('bob')],
    [relabel('b', 'wrong'), transfer('alice'), start(0, null, 'wrong'), start(0, null, 'right')],
    [suspend(), finish(), suspend(), run(0, 'success', 'wrong'), run(0, 'success', 'right')],
  ),
  'it is given to somebody who has one with its key': told([
    create('one'),
    create('one', { owner: 'bob' }),
    transfer('bob'),
    start(1),
    release({}, 1),
    transfer('bob'),
    finish(),
    transfer('bob'),
  ]),
  'nobody can use what is held': told(
    create('one', { terms: 'bound' }),
    [hold(), hold(), suspend(), resume(), run(), start(), refresh(null), relabel('a'), wait(47)],
    [unhold(), unhold(), start(), hold(), start(), wait(11), finish(), wait(2), unhold()],
    suspend(),
    [hold(), wait(47), resume(), run(), unhold(), run()],
  ),
  'nothing idles out while it is held': told([create('one'), hold(), wait(131), wait(6007), unhold(), untilDue()]),
  'nothing idles out for good while it is held': told([create('one', { terms: 'releasing' }), hold(), wait(131), unhold(), untilDue()]),
  'nothing that is suspended ends while it is held': told([
    create('one'),
    suspend(),
    hold(),
    wait(1201),
    unhold(),
    untilDue(0, -1),
    untilDue(),
  ]),
  'no record goes while it is held': told([create('one'), cancel(), hold(), wait(6007), unhold(), untilDue(0, -1)]),
  'what strangers ask': told(
    create('one'),
    start(),
    Array.from({ length: VERBS }, (_, verb) => stranger(verb)),
  ),
  'what strangers ask about what is over': told(
    create('one', { owner: 'carol' }),
    run(),
    cancel(),
    Array.from({ length: VERBS }, (_, verb) => stranger(verb)),
  ),
  'activity that is only noted': told(
    [create('one'), wait(47, note()), untilDue(0, -1, note()), note(), wait(0)],
    [suspend(), wait(47, note()), run(), note(), wait(1), restart('kill'), note(), restart('stop')],
    [start(), wait(11, note()), release(), wait(11, note()), finish(2), wait(11, note())],
  ),
  'two at the same time': told(
    [create('one'), both(hold(), suspend()), unhold(), both(run(), refresh(53))],
    [both(relabel('a', 'right'), relabel('b', 'right')), both(cancel(), release())],
  ),
}
