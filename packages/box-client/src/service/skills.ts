/**
 * The skills of a workspace as a host meets them: read as none while there is no Box, and written only when there is one.
 */
import type { BoxContext, BoxMountSpec, SkillInfo } from '@holdfast/protocol/box'
import type { BoxClient } from '../calls/box-client.ts'
import type { BoxConnector } from '../connector/connector.ts'
import type { BoxLog } from '../log.ts'
import { requireBox } from './required.ts'

const SKILLS_DIRECTORY = '/workspace/.skills'

type WriteName = 'createSkill' | 'updateSkill' | 'deleteSkill' | 'writeSkillFile' | 'installSkillZip'
type ReadName = 'scanSkillDirectory' | 'listSkillFiles' | 'readSkillFile' | 'previewSkillZip'

export interface BoxSkills extends Pick<BoxClient, WriteName | ReadName | 'listSkills' | 'getSkill'> {
  /** How skills are shown in a sandbox. What has no directory is left out with a warning, never made. */
  mountsFor(context: BoxContext, names: readonly string[]): Promise<readonly BoxMountSpec[]>
}

export interface SkillsNeeds {
  readonly connector: BoxConnector
  readonly log: BoxLog
  /** Only asked when the server sees the files of this machine. */
  readonly isDirectory: (path: string) => Promise<boolean>
}

export function createBoxSkills({ connector, log, isDirectory }: SkillsNeeds): BoxSkills {
  const { client } = connector
  /** The call itself, behind the question whether there is anybody to take it. */
  function needing<A extends readonly unknown[], R>(deed: string, call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return async (...args) => {
      requireBox(connector, deed)
      return call(...args)
    }
  }
  const listSkills: BoxClient['listSkills'] = async (...args) => (connector.isConnected ? client.listSkills(...args) : [])
  return {
    listSkills,
    getSkill: async (...args) => (connector.isConnected ? client.getSkill(...args) : null),
    createSkill: needing('creating a skill', client.createSkill),
    updateSkill: needing('changing a skill', client.updateSkill),
    deleteSkill: needing('deleting a skill', client.deleteSkill),
    writeSkillFile: needing('writing a file of a skill', client.writeSkillFile),
    installSkillZip: needing('installing skills', client.installSkillZip),
    scanSkillDirectory: needing('looking for a skill', client.scanSkillDirectory),
    listSkillFiles: needing('listing the files of a skill', client.listSkillFiles),
    readSkillFile: needing('reading a file of a skill', client.readSkillFile),
    previewSkillZip: needing('looking into an archive of skills', client.previewSkillZip),
    async mountsFor(context, names) {
      if (names.length === 0) return []
      const skills = (await listSkills(context)).filter(({ name }) => names.includes(name))
      const isThere = async ({ package_root: root }: SkillInfo) => root !== '' && (!connector.sharesFiles || (await isDirectory(root)))
      const shown = await Promise.all(skills.map(async (skill) => ({ skill, isShown: await isThere(skill) })))
      const missing = shown.filter(({ isShown }) => !isShown).map(({ skill }) => skill.name)
      if (missing.length > 0) log.warn('box: skills without a directory are not shown', { skills: missing })
      return shown.filter(({ isShown }) => isShown).map(({ skill }) => mountOf(skill))
    },
  }
}

function mountOf({ name, package_root: root }: SkillInfo): BoxMountSpec {
  return { host_path: root, mount_path: `${SKILLS_DIRECTORY}/${name}`, mode: 'rw' }
}
