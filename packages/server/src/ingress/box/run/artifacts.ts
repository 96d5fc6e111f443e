/**
 * Content-addressed artifacts in sandboxes: verified copies, which appear in a directory that every Box session shows read-only.
 *
 * ```
 * <workspace of the session>/artifacts
 *   shown      mounted at /opt/langbot-artifacts
 *     <hex>    one tree, published whole by a rename and never changed
 *   making     copies that are not whole yet; emptied before the next one is made
 * ```
 *
 * The directory is mounted when a sandbox is made, so a tree that comes later needs no other sandbox.
 */
import { chmod, mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import { ARTIFACTS_PATH, MAXIMUM_ARTIFACT_BYTES } from '@holdfast/protocol/box'
import { hasErrorCode } from '../../../home/error-code.ts'
import { randomId } from '../../../home/random-id.ts'
import { removeTree } from '../../../home/remove-tree.ts'
import { artifactFailure, copyArtifact, readManifest, treeBytes } from './artifact-copy.ts'
import type { ArtifactMount } from './extra-mounts.ts'
import { keyedTurns } from './keyed-turns.ts'

const MAXIMUM_TREES = 256
const MAXIMUM_REMEMBERED = 10_000
const DIGITS = /^[0-9a-f]{64}$/

/** The directory that a sandbox of this session shows, made if need be. */
export async function makeShownArtifacts(storage: string): Promise<string> {
  const shown = shownIn(storage)
  await mkdir(shown, { recursive: true, mode: 0o755 })
  // Whatever the server's umask is.
  await chmod(shown, 0o755)
  return shown
}

export interface ArtifactSources {
  readonly packagePath: string
  readonly manifestPath: string
}

export interface Artifacts {
  /** Whether all of these are shown already, as far as it is known without the disk. */
  has(sessionId: string, wanted: readonly ArtifactMount[]): boolean
  /** Whether a sandbox of this session was made with the directory. */
  isPrepared(sessionId: string): Promise<boolean>
  /** Copies what is missing. `resolve` checks the paths of one artifact. Throws `BoxError`. */
  show(sessionId: string, wanted: readonly ArtifactMount[], resolve: (artifact: ArtifactMount) => Promise<ArtifactSources>): Promise<void>
}

export function createArtifacts({ storageOf }: { readonly storageOf: (sessionId: string) => string }): Artifacts {
  /** Bytes of each tree that is shown, by its digits. */
  const known = new Map<string, Map<string, number>>()
  const inTurn = keyedTurns()

  async function treesOf(sessionId: string): Promise<Map<string, number>> {
    const remembered = known.get(sessionId)
    if (remembered !== undefined) return remembered
    const shown = shownIn(storageOf(sessionId))
    const trees = new Map<string, number>()
    for (const name of await readdir(shown)) if (DIGITS.test(name)) trees.set(name, await treeBytes(join(shown, name)))
    if (known.size >= MAXIMUM_REMEMBERED) known.clear()
    known.set(sessionId, trees)
    return trees
  }

  async function add(sessionId: string, trees: Map<string, number>, { digest }: ArtifactMount, sources: ArtifactSources): Promise<void> {
    const manifest = await readManifest(sources.manifestPath, digest)
    const bytes = [...trees.values()].reduce((sum, each) => sum + each, manifest.total_bytes)
    if (trees.size >= MAXIMUM_TREES || bytes > MAXIMUM_ARTIFACT_BYTES)
      throw artifactFailure(`the session holds ${MAXIMUM_TREES} artifacts or ${MAXIMUM_ARTIFACT_BYTES} bytes of them; acquire a new Box`)
    const storage = storageOf(sessionId)
    const making = join(storage, 'artifacts', 'making')
    await removeTree(making)
    await mkdir(making, { recursive: true, mode: 0o700 })
    const draft = join(making, randomId('tree'))
    await copyArtifact(sources.packagePath, draft, manifest)
    await rename(draft, join(shownIn(storage), digitsOf(digest)))
    trees.set(digitsOf(digest), manifest.total_bytes)
  }

  return {
    has(sessionId, wanted) {
      const trees = known.get(sessionId)
      return trees !== undefined && wanted.every(({ digest }) => trees.has(digitsOf(digest)))
    },
    async isPrepared(sessionId) {
      return readdir(shownIn(storageOf(sessionId))).then(
        () => true,
        (error: unknown) => {
          if (hasErrorCode(error, 'ENOENT')) return false
          throw error
        },
      )
    },
    show: (sessionId, wanted, resolve) =>
      inTurn(sessionId, async () => {
        // The sandbox may be being made meanwhile.
        await makeShownArtifacts(storageOf(sessionId))
        const trees = await treesOf(sessionId)
        for (const artifact of wanted) {
          if (trees.has(digitsOf(artifact.digest))) continue
          await resolve(artifact)
            .then((sources) => add(sessionId, trees, artifact, sources))
            .catch((error: unknown) => {
              // Refusals keep their class; what the disk says does not leave the server.
              if (isHoldfastError(error)) throw error
              throw artifactFailure(`the files at ${ARTIFACTS_PATH}/${digitsOf(artifact.digest)} cannot be copied`, { cause: error })
            })
        }
      }),
  }
}

function shownIn(storage: string): string {
  return join(storage, 'artifacts', 'shown')
}

function digitsOf(digest: string): string {
  return digest.slice(digest.indexOf(':') + 1)
}
