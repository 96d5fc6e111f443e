/**
 * LangBot's own Box client, from PyPI, in a virtual environment.
 */
import { join } from 'node:path'
import { published, publishedBecause, pythonEnvironment } from './published-packages.ts'

/** The last whose wire the door speaks: with contexts, and with skills. */
export const CURRENT_RELEASE = 'langbot-plugin==0.5.5'
/** The last without contexts and headers. */
export const OLDER_RELEASE = 'langbot-plugin==0.4.17'
/** Its wire has no skills, and forbids fields that were there. */
export const NEWEST_RELEASE = 'langbot-plugin==0.7.18'

export type PublishedClient = { readonly python: string; readonly skipReason: null } | { readonly skipReason: string }

export async function publishedClient(release: string): Promise<PublishedClient> {
  const { path, skipReason } = await published(pythonEnvironment(release))
  return path === null ? { skipReason } : { python: join(path, 'bin', 'python3'), skipReason: null }
}

export { publishedBecause as clientBecause }
