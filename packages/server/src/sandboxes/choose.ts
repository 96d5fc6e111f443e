/**
 * Which backend serves: the one asked for, or the first in the fixed order that is available and has the image it is to run.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Holds always: an explicit choice is never replaced by another, and nothing falls back to the bare host.
 */
import { HoldfastError, isHoldfastError } from '@holdfast/protocol'
import { BACKEND_KINDS } from './backend.ts'
import type { BackendKind, Capabilities, OnProgress, Probe, SandboxBackend } from './backend.ts'

/** In an automatic choice a backend that takes longer counts as unavailable: a hanging engine must not hang the start. */
const PROBE_TIMEOUT_MS = 10_000
/** A backend that was named has no alternative, and `podman info` takes more than 10 s on a busy machine. */
const NAMED_PROBE_TIMEOUT_MS = 60_000

export interface ChosenBackend {
  readonly backend: SandboxBackend
  readonly version: string
  readonly capabilities: Capabilities
  /** Backends that are there and come before this one, and why they were not taken all the same. */
  readonly passedOver: readonly string[]
}

export interface BackendWish {
  readonly kind: BackendKind | 'auto'
  /** What sandboxes are to run where the backend runs images. */
  readonly image: string
  /** A person named the image: a backend that runs none will not do. */
  readonly isImageNamed: boolean
  readonly onProgress?: OnProgress
}

export interface ProbedBackend {
  readonly kind: BackendKind
  readonly probe: Probe
}

export type OpenBackend = (kind: BackendKind) => Promise<SandboxBackend>

/** Throws `backend_unavailable` with each candidate's reason and fix. */
export async function chooseBackend(
  open: OpenBackend,
  wish: BackendWish,
  timeoutMs = wish.kind === 'auto' ? PROBE_TIMEOUT_MS : NAMED_PROBE_TIMEOUT_MS,
): Promise<ChosenBackend> {
  const isAutomatic = wish.kind === 'auto'
  const kinds = wish.kind === 'auto' ? BACKEND_KINDS : [wish.kind]
  const refusals: string[] = []
  const passedOver: string[] = []
  const decided = new AbortController()
  // All probes start at once; they are looked at in order, so a quick first choice does not wait for a slow last one.
  const probes = kinds.map((kind) => ({ kind, result: probeBackend(open, kind, timeoutMs, decided.signal) }))
  for (const { kind, result } of probes) {
    const probe = await result
    if (!probe.available) {
      refusals.push(`${kind}: ${probe.reason} (fix: ${probe.fix})`)
      continue
    }
    const backend = await open(kind)
    const obstacle = isAutomatic ? await imageObstacle(backend, wish) : null
    if (obstacle === null) {
      decided.abort()
      return { backend, version: probe.version, capabilities: probe.capabilities, passedOver }
    }
    passedOver.push(`${kind}: ${obstacle}`)
  }
  const subject = isAutomatic ? 'no backend can be used on this machine' : `the backend ${wish.kind} is not available`
  throw new HoldfastError('backend_unavailable', `${subject}. ${[...refusals, ...passedOver].join('. ')}`, { tried: [...kinds] })
}

/** Why an available backend cannot run the image, or `null`. An explicit choice never comes here: its creation says the same. */
async function imageObstacle(backend: SandboxBackend, { image, isImageNamed, onProgress }: BackendWish): Promise<string | null> {
  if (backend.images === undefined) return isImageNamed ? `it runs no images, and ${image} was named` : null
  try {
    await backend.images.ensure(image, undefined, onProgress)
    return null
  } catch (error) {
    if (!isHoldfastError(error)) throw error
    return `${error.message} (fix: put the image there, name another with HOLDFAST_IMAGE, or choose a backend with HOLDFAST_BACKEND)`
  }
}

/** Every backend's state, for `holdfast doctor`. */
export async function probeAll(open: OpenBackend, timeoutMs = PROBE_TIMEOUT_MS): Promise<readonly ProbedBackend[]> {
  return Promise.all(
    BACKEND_KINDS.map(async (kind) => ({ kind, probe: await probeBackend(open, kind, timeoutMs, new AbortController().signal) })),
  )
}

/** The kind that a person named, or `backend_unknown`. */
export function parseBackendWish(text: string): BackendKind | 'auto' {
  const known = (['auto', ...BACKEND_KINDS] as const).find((kind) => kind === text)
  if (known !== undefined) return known
  throw new HoldfastError('backend_unknown', `there is no backend ${JSON.stringify(text)}; choose auto, ${BACKEND_KINDS.join(', ')}`, {
    backend: text,
  })
}

async function probeBackend(open: OpenBackend, kind: BackendKind, timeoutMs: number, decided: AbortSignal): Promise<Probe> {
  const given = Promise.withResolvers<Probe>()
  const abort = new AbortController()
  const giveUp = (reason: string, fix: string) => {
    abort.abort()
    given.resolve({ available: false, reason, fix })
  }
  const timer = setTimeout(
    () => giveUp(`did not answer within ${timeoutMs} ms`, 'see whether its service hangs, then try again'),
    timeoutMs,
  )
  decided.addEventListener('abort', () => giveUp('another backend was chosen first', 'name this one explicitly'), { once: true })
  try {
    return await Promise.race([given.promise, open(kind).then((backend) => backend.probe(abort.signal))])
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { available: false, reason: `could not be probed: ${reason}`, fix: 'this is a bug in the backend; please report it' }
  } finally {
    clearTimeout(timer)
  }
}
