/**
 * The tracing that the settings ask for. The library of a collector is loaded only when there is one.
 *
 * Stands beside the flow: whoever starts a server calls it once.
 */
import type { OtlpNeeds } from './otlp-tracing.ts'
import { untraced } from './tracing.ts'
import type { Tracing } from './tracing.ts'

export async function openTracing(url: string | null, needs: Omit<OtlpNeeds, 'url'>): Promise<Tracing> {
  if (url === null) return untraced
  const { otlpTracing } = await import('./otlp-tracing.ts')
  return otlpTracing({ url, ...needs })
}
