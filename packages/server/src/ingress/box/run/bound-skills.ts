/**
 * Of the further mounts that a client asks for: those that are skills of its workspace, which are shown without a new sandbox.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { lstat } from 'node:fs/promises'
import { normalize } from 'node:path'
import type { MountWish } from '@holdfast/protocol'
import type { BoxMountSpec } from '@holdfast/protocol/box'
import type { BoundSkill } from '../../../skills/skill-views.ts'
import type { Log } from '../../../telemetry/log.ts'

const SKILL_TARGET = /^\/workspace\/\.skills\/([^/]+)$/

export interface ExtraMounts {
  readonly skills: readonly BoundSkill[]
  /** In one order, whatever the client's is. */
  readonly mounts: readonly MountWish[]
}

/** `skillsRoot`: where the workspace's skills are. */
export function extraMountsOf(extra: readonly BoxMountSpec[], skillsRoot: string): ExtraMounts {
  const skills: BoundSkill[] = []
  const mounts: MountWish[] = []
  for (const { host_path: source, mount_path: target, mode } of extra) {
    if (mode === 'none') continue
    const name = SKILL_TARGET.exec(target)?.[1]
    if (name !== undefined && normalize(source).startsWith(`${skillsRoot}/`)) skills.push({ name, packageRoot: normalize(source) })
    else mounts.push({ source, target, mode })
  }
  return { skills, mounts: mounts.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1)) }
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
