/**
 * The address that a webhook's events go to. It often holds a token, so it is stored sealed, and only scheme and host are shown.
 */
import type { Sealing } from '../../home/sealing.ts'
import type { Store } from '../../store/store.ts'
import { sealWebhookTarget, unsealedWebhooks } from '../../store/tables/webhooks.ts'
import type { WebhookRow } from '../../store/tables/webhooks.ts'

const contextOf = (id: string) => `${id} target`

/** What of an address is stored: the part that is shown, and all of it, sealed. */
export function storedTarget(sealing: Sealing, id: string, url: string): { readonly url: string; readonly target: Uint8Array } {
  return { url: new URL(url).origin, target: sealing.seal(Buffer.from(url), contextOf(id)) }
}

/** Throws `config_invalid` when it was sealed with another key. */
export function targetUrl(sealing: Sealing, { id, url, target }: Pick<WebhookRow, 'id' | 'url' | 'target'>): string {
  return target === null ? url : Buffer.from(sealing.open(target, contextOf(id))).toString()
}

/** Seals what versions before the column `target` stored in clear. */
export async function sealOlderTargets(store: Store, sealing: Sealing): Promise<void> {
  await store.write(async (transaction) => {
    for (const row of await unsealedWebhooks(transaction)) await sealWebhookTarget(transaction, row, storedTarget(sealing, row.id, row.url))
  })
}
