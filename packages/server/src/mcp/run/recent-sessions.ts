/**
 * Sessions of conversations, as they were found a moment ago: most calls of a tool come right after another in the same one.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Whatever happens to a session here is told as an event, and it is looked for again; what another server does to it counts within
 * `LIFE_MS`. Rights are not remembered: whoever asks is checked each time.
 */
import type { EventListeners } from '../../sessions/events/event-listeners.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'

/** As for keys. */
const LIFE_MS = 5_000
const MAXIMUM = 1_024

export interface RecentSessionsNeeds {
  readonly listeners: Pick<EventListeners, 'listen' | 'listenToAll'>
  readonly clock: () => number
}

export interface RecentSessions {
  recall(key: string, find: () => Promise<SessionRow>): Promise<SessionRow>
  close(): void
}

interface Found {
  readonly session: SessionRow
  readonly since: number
  forget(): void
}

export function recentSessions({ listeners, clock }: RecentSessionsNeeds): RecentSessions {
  const recent = new Map<string, Found>()
  let told = 0
  const stopCounting = listeners.listenToAll(() => void (told += 1))

  function remember(key: string, session: SessionRow, since: number): void {
    const [oldest] = recent.values()
    if (recent.size >= MAXIMUM) oldest?.forget()
    const forget = () => {
      stop()
      if (recent.get(key) === found) recent.delete(key)
    }
    const stop = listeners.listen(session.id, forget)
    const found = { session, since, forget }
    recent.set(key, found)
  }

  return {
    async recall(key, find) {
      const known = recent.get(key)
      const now = clock()
      if (known !== undefined && now >= known.since && now < known.since + LIFE_MS) return known.session
      known?.forget()
      const before = told
      const session = await find()
      // Something happened meanwhile, perhaps to this one.
      if (told === before && !recent.has(key)) remember(key, session, now)
      return session
    },
    close() {
      stopCounting()
      for (const { forget } of [...recent.values()]) forget()
    },
  }
}
