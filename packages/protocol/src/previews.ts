/**
 * Previews on the wire: a link for a browser to a web app that listens inside a sandbox.
 */
import { z } from 'zod'

export const MAXIMUM_PORT = 65_535
export const PREVIEW_TTL_SECONDS = 3_600
export const MAXIMUM_PREVIEW_TTL_SECONDS = 86_400

const PORT = `must be a port: a whole number from 1 to ${MAXIMUM_PORT}`
const TTL = `must be a whole number of seconds from 1 to ${MAXIMUM_PREVIEW_TTL_SECONDS}`

export const InnerPort = z.int({ error: PORT }).min(1, { error: PORT }).max(MAXIMUM_PORT, { error: PORT })

export const LinkTtlSeconds = z
  .int({ error: TTL })
  .min(1, { error: TTL })
  .max(MAXIMUM_PREVIEW_TTL_SECONDS, { error: TTL })
  .default(PREVIEW_TTL_SECONDS)
  .meta({ description: 'For how long the link works.' })

export const CreatePreviewBody = z.strictObject({
  port: InnerPort.meta({ description: 'Where the app listens, on any address of the sandbox.' }),
  ttl_seconds: LinkTtlSeconds,
})

export const PreviewView = z.object({
  /** Whoever has it may use the app, without a key. */
  url: z.url(),
  port: z.int(),
  expires_at: z.iso.datetime(),
})
export type PreviewView = z.output<typeof PreviewView>
