/**
 * Why a socket is closed, in the numbers of RFC 6455.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */

/** Everything was said. */
export const CLOSE_NORMAL = 1000
/** The server stops. */
export const CLOSE_GOING_AWAY = 1001
/** Whoever is there may not be there any more. */
export const CLOSE_POLICY = 1008
/** There is no room for what it sends. */
export const CLOSE_TRY_AGAIN = 1013
/** It failed; a message said how. */
export const CLOSE_FAILED = 1011
