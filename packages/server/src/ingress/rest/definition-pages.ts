/**
 * Lists of profiles and pipelines: the read-only ones first, in their own order, then the stored ones by name.
 */
import type { DefinitionSource } from '@holdfast/protocol'
import type { Definition } from '../../policy/definitions/definitions.ts'
import { momentOrNull } from './moment.ts'
import type { Place } from './page-tokens.ts'

interface Listed {
  readonly stored: Definition<unknown> | null
}

export interface DefinitionSources<T extends Listed> {
  readonly readOnly: readonly T[]
  stored(tenantId: string, afterName: string, limit: number): Promise<readonly T[]>
}

const READ_ONLY = 0
const STORED = 1

/** An item with its place in the list. */
export async function definitionsAfter<T extends Listed>(
  { readOnly, stored }: DefinitionSources<T>,
  tenantId: string,
  after: Place | null,
  limit: number,
): Promise<readonly { readonly item: T; readonly place: Place }[]> {
  const [part, afterName, index] = after ?? [READ_ONLY, '', 0]
  const fixed = part === STORED ? [] : readOnly.slice(index, index + limit)
  const found = fixed.map((item, offset) => ({ item, place: [READ_ONLY, '', index + offset + 1] as const }))
  if (found.length === limit) return found
  const rest = await stored(tenantId, afterName, limit - found.length)
  return [...found, ...rest.map((item) => ({ item, place: [STORED, item.stored?.name ?? '', 0] as const }))]
}

/** What a view says of where a definition comes from. */
export function definitionFacts(source: DefinitionSource, stored: Definition<unknown> | null) {
  return {
    ...{ source, read_only: stored === null, version: stored?.version ?? null },
    ...{ created_at: momentOrNull(stored?.createdAt ?? null), updated_at: momentOrNull(stored?.updatedAt ?? null) },
  }
}
