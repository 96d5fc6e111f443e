/**
 * After a rotation of the server's key: seals every stored credential with the current key, so that the earlier one can be dropped.
 */
import type { Sealing } from '../../home/sealing.ts'
import type { Store } from '../../store/store.ts'
import { credentialPage, resealCredential } from '../../store/tables/credentials.ts'
import type { SealedCredential } from '../../store/tables/credentials.ts'
import { errorText } from '../../telemetry/log.ts'
import type { Log } from '../../telemetry/log.ts'
import { credentialContext } from './loan.ts'

const BATCH = 200

export async function resealCredentials(store: Store, sealing: Sealing, log: Log): Promise<void> {
  let after = { sessionId: '', name: '' }
  let resealed = 0
  for (;;) {
    const page = await store.read((sql) => credentialPage(sql, after, BATCH))
    const changed = page.flatMap((credential) => {
      const value = again(credential)
      return value === null ? [] : [{ credential, value }]
    })
    if (changed.length > 0)
      await store.write(async (transaction) => {
        for (const { credential, value } of changed) if (await resealCredential(transaction, credential, value)) resealed += 1
      })
    const last = page.at(-1)
    if (last === undefined || page.length < BATCH) break
    after = last
  }
  if (resealed > 0) log.info('credentials-resealed', { count: resealed })

  /** One of a lost key cannot be delivered any more; executions of its session say so. */
  function again({ sessionId, name, value }: SealedCredential): Uint8Array | null {
    try {
      return sealing.reseal(value, credentialContext(sessionId, name))
    } catch (error) {
      log.warn('credential-not-opened', { session: sessionId, error: errorText(error) })
      return null
    }
  }
}
