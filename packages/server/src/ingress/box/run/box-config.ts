/**
 * What LangBot says the server is to be (`box_init`): taken section by section, and never beyond what the operator allows.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Of its directories only the absolute ones mean anything here: a relative one is a directory of the machine and the moment of the client.
 * Secrets among its sections (those of other backends) are not kept.
 */
import { isAbsolute, join, normalize } from 'node:path'
import { BoxError, DEFAULT_BOX_LIMITS, readBoxLimits } from '@holdfast/protocol/box'
import type { BoxLimits } from '@holdfast/protocol/box'
import { z } from 'zod'

const text = z.string().trim().max(4096).catch('')
const RootList = z
  .union([z.array(z.string()), z.string().transform((list) => list.split(','))])
  .transform((list) => list.map((path) => path.trim()).filter((path) => path !== ''))
  .catch([])
const Local = z.object({ host_root: text, default_workspace: text, allowed_mount_roots: RootList }).partial().catch({})

/** `local` is any backend of the server's machine. */
const Backend = z
  .string()
  .trim()
  .toLowerCase()
  .max(64)
  .transform((name) => (name === '' || name === 'local' ? null : name))
  .catch(null)

export interface BoxConfig {
  readonly limits: BoxLimits
  /** The client's own roots, which narrow those of the operator; `null`: it names none that mean something here. */
  readonly clientRoots: readonly string[] | null
  /** Where the client keeps what is no workspace's own. */
  readonly defaultWorkspace: string
  /** The backend that the client names; `null`: whatever there is. */
  readonly backend: string | null
  /** Throws `ValueError` and `BoxValidationError`, and then nothing has changed. */
  init(sections: Readonly<Record<string, unknown>>): void
}

export function boxConfig(hostRoot: string): BoxConfig {
  let limits = DEFAULT_BOX_LIMITS
  let local: z.output<typeof Local> = {}
  let backend: string | null = null
  return {
    get limits() {
      return limits
    },
    get clientRoots() {
      const roots = local.allowed_mount_roots ?? []
      return roots.length > 0 && roots.every((root) => isAbsolute(root)) ? roots.map((root) => normalize(root)) : null
    },
    get defaultWorkspace() {
      const named = local.default_workspace ?? ''
      if (isAbsolute(named)) return normalize(named)
      return join(hostRoot, named === '' ? 'default' : join('/', named))
    },
    get backend() {
      return backend
    },
    init(sections) {
      const named = Backend.parse(sections['backend'])
      if (named === 'host')
        throw new BoxError('BoxValidationError', "backend: 'host' runs commands without isolation, and this server never does; use 'local'")
      const next = sections['limits'] === undefined ? limits : readBoxLimits(sections['limits'])
      if (sections['local'] !== undefined) local = Local.parse(sections['local'])
      if (sections['backend'] !== undefined) backend = named
      limits = next
    },
  }
}
