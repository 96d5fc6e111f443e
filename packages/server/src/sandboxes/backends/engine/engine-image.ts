/**
 * The image of a sandbox: found on the engine, or pulled with progress for people.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Holds always: whatever goes wrong ends as `image_missing` with the engine's reason, within a bounded silence.
 */
import { HoldfastError } from '@holdfast/protocol'
import type { OnProgress } from '../../backend.ts'
import { PullLine } from './engine-answers.ts'
import { refusalReason, type EngineClient } from './engine-client.ts'

export interface FoundImage {
  /** Immutable, so that what was looked at is what is started. */
  readonly id: string
  readonly volumes: readonly string[]
  /** Directories of its layers, the uppermost first; none where the engine keeps them in another way. */
  readonly layers: readonly string[]
}

/** The grammar of references is longer; these characters are all it has, and none of them means anything in a URL path. */
const REFERENCE = /^[a-z0-9][a-z0-9._:@+/-]{0,254}$/i

/** A registry that says nothing for so long is not going to. */
const MAX_PULL_SILENCE_MS = 30_000

/** An image that declares more is refused: each costs a mount. */
const MAX_VOLUMES = 32

export function assertImageReference(engine: string, reference: string | null): string {
  if (reference === null) throw new HoldfastError('invalid_request', `${engine} needs an image, and none was named`)
  if (REFERENCE.test(reference) && !reference.includes('..') && !reference.includes('//')) return reference
  throw new HoldfastError('invalid_request', `the image name ${JSON.stringify(reference.slice(0, 255))} is not valid`, {
    image: reference.slice(0, 255),
  })
}

export async function findImage(client: EngineClient, reference: string, signal: AbortSignal): Promise<FoundImage | null> {
  const image = await client.inspectImage(reference, signal)
  if (image === null) return null
  const volumes = Object.keys(image.Config?.Volumes ?? {})
  const { UpperDir = '', LowerDir = '' } = image.GraphDriver?.Data ?? {}
  const layers = [UpperDir, ...LowerDir.split(':')].filter((path) => path !== '')
  if (volumes.length <= MAX_VOLUMES) return { id: image.Id, volumes, layers }
  throw new HoldfastError('capability_unsupported', `the image ${reference} declares ${volumes.length} volumes, more than ${MAX_VOLUMES}`, {
    image: reference,
  })
}

export function imageMissing(engine: string, reference: string, reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    'image_missing',
    `${engine} has no image ${reference}: ${reason}`,
    { image: reference },
    cause === undefined ? undefined : { cause },
  )
}

export async function pullImage(client: EngineClient, reference: string, onProgress: OnProgress, signal: AbortSignal): Promise<FoundImage> {
  if (reference.startsWith('sha256:')) throw imageMissing(client.engine, reference, 'an image id cannot be pulled')
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(new Error(`nothing came for ${MAX_PULL_SILENCE_MS / 1000} seconds`)), MAX_PULL_SILENCE_MS)
  const progress = pullProgress(reference, onProgress)
  const onLine = (line: string): void => {
    timer.refresh()
    progress.take(line)
  }
  try {
    await client.pullImage(withTag(reference), onLine, AbortSignal.any([signal, silence.signal]))
  } catch (error) {
    if (signal.aborted) throw error
    const reason = refusalReason(error) || (error instanceof Error ? error.message : String(error))
    throw imageMissing(client.engine, reference, `pulling it failed: ${reason}`, error)
  } finally {
    clearTimeout(timer)
  }
  if (progress.failure() !== null) throw imageMissing(client.engine, reference, `pulling it failed: ${progress.failure()}`)
  const image = await findImage(client, reference, signal)
  if (image === null) throw imageMissing(client.engine, reference, 'the pull ended without it')
  return image
}

/** Without a tag the API pulls every tag there is. */
function withTag(reference: string): string {
  const lastPart = reference.slice(reference.lastIndexOf('/') + 1)
  return lastPart.includes(':') || lastPart.includes('@') ? reference : `${reference}:latest`
}

/** Sums the layers of the engine's progress lines into one figure, told once per whole percent. */
function pullProgress(reference: string, onProgress: OnProgress) {
  const layers = new Map<string, { readonly current: number; readonly total: number }>()
  let failure: string | null = null
  let lastTold = -1
  onProgress(`pulling ${reference}`)
  return {
    failure: () => failure,
    take(text: string): void {
      const line = parseLine(text)
      if (line === null) return
      if (line.error !== undefined) failure = line.error.slice(0, 500)
      const { current, total } = line.progressDetail ?? {}
      if (line.id === undefined || current === undefined || total === undefined || total <= 0) return
      layers.set(line.id, { current, total })
      const percent = wholePercent([...layers.values()])
      if (percent <= lastTold) return
      lastTold = percent
      onProgress(`pulling ${reference} ${percent} %`)
    },
  }
}

function wholePercent(layers: readonly { readonly current: number; readonly total: number }[]): number {
  const current = layers.reduce((sum, layer) => sum + Math.min(layer.current, layer.total), 0)
  const total = layers.reduce((sum, layer) => sum + layer.total, 0)
  return Math.floor((100 * current) / total)
}

function parseLine(text: string) {
  try {
    return PullLine.parse(JSON.parse(text))
  } catch {
    // Progress is for people; a line in another shape has nothing for them.
    return null
  }
}
