/**
 * A Box client may ask for a writable root on any backend, as the original's nsjail takes it: where the backend has none, the root stays
 * read-only, and the session is reported as it was asked for.
 */
import type { Sessions } from '../../../sessions/sessions.ts'

export function withPossibleRoot(sessions: Sessions, hasWritableRoot: boolean): Sessions {
  if (hasWritableRoot) return sessions
  return {
    ...sessions,
    getOrCreate(caller, request, signal) {
      const { wish } = request
      return sessions.getOrCreate(
        caller,
        wish?.rootfs === 'writable' ? { ...request, wish: { ...wish, rootfs: 'read-only' } } : request,
        signal,
      )
    },
  }
}
