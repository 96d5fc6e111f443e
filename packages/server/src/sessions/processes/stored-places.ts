/**
 * Places of processes in the store.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { Store } from '../../store/store.ts'
import { findPlace, putPlace } from '../../store/tables/process-places.ts'
import type { ProcessPlaces } from './process-places.ts'

export function storedPlaces(store: Store): ProcessPlaces {
  return {
    async writePlace(sessionId, name, place) {
      await store.write((transaction) => putPlace(transaction, sessionId, name, place), 'process')
    },
    async readPlace(sessionId, name, executionId) {
      const place = await store.read((sql) => findPlace(sql, sessionId, name))
      return place?.executionId === executionId ? place.seq : 0
    },
  }
}
