/**
 * The kinds of further mounts that a client asks for: skills of its workspace and content-addressed artifacts, which appear in a running
 * sandbox, and plain ones, which are part of the sandbox.
 */
import { lstat } from 'node:fs/promises'
import { normalize } from 'node:path'
import type { MountWish } from '@holdfast/protocol'
import type { BoxMountSpec } from '@holdfast/protocol/box'
import type { BoundSkill } from '../../../skills/skill-views.ts'
import type { Log } from '../../../telemetry/log.ts'

const SKILL_TARGET = /^\/workspace\/\.skills\/([^/]+)$/

export interface ArtifactMount {
  /** `sha256:` and 64 digits, which name the tree inside too. */
  readonly digest: string
  readonly packagePath: string
  readonly manifestPath: string
}

export interface ExtraMounts {
  readonly artifacts: readonly ArtifactMount[]
  readonly skills: readonly BoundSkill[]
  /** In one order, whatever the client's is. */
  readonly mounts: readonly MountWish[]
}

/** `skillsRoot`: where the workspace's skills are. */
export function extraMountsOf(extra: readonly BoxMountSpec[], skillsRoot: string): ExtraMounts {
  const skills: BoundSkill[] = []
  const mounts: MountWish[] = []
  const artifacts: ArtifactMount[] = []
  for (const { host_path: source, mount_path: target, mode, content_digest: digest = null, manifest_path: manifestPath = null } of extra) {
    if (mode === 'none') continue
    if (digest !== null && manifestPath !== null) {
      artifacts.push({ digest, packagePath: source, manifestPath })
      continue
    }
    const name = SKILL_TARGET.exec(target)?.[1]
    if (name !== undefined && normalize(source).startsWith(`${skillsRoot}/`)) skills.push({ name, packageRoot: normalize(source) })
    else mounts.push({ source, target, mode })
  }
  return { artifacts, skills, mounts: mounts.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1)) }
}

/** As a set they are the same. */
export function isSameMounts(a: readonly MountWish[], b: readonly MountWish[]): boolean {
  const texts = (mounts: readonly MountWish[]) => [...new Set(mounts.map(textOf))].toSorted().join('\n')
  return texts(a) === texts(b)
}

/** Without skills of elsewhere that are not here: a package that is missing is skipped, never fatal. */
export async function withoutMissingSkills(mounts: readonly MountWish[], log: Log): Promise<readonly MountWish[]> {
  const kept: MountWish[] = []
  for (const mount of mounts) {
    if (SKILL_TARGET.test(mount.target) && !(await isThere(mount.source))) log.warn('box-skill-missing', { target: mount.target })
    else kept.push(mount)
  }
  return kept
}

function textOf({ source, target, mode }: MountWish): string {
  return JSON.stringify([target, source, mode])
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
