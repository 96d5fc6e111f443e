/** A tenant's skills in a scratch directory, for tests. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { jsonLog } from '../../telemetry/log.ts'
import { createSkillStore } from '../skill-store.ts'

export function openSkillsLaboratory() {
  const ground = mkdtempSync(join(tmpdir(), 'holdfast-skills-'))
  const root = join(ground, 'tenants', 'tnt_a')
  const logged: string[] = []
  const log = jsonLog('info', (line) => logged.push(line))
  mkdirSync(root, { recursive: true })
  return {
    ground,
    root,
    log,
    logged,
    store: createSkillStore({ directory: root, clock: Date.now, log }),
    /** Below the ground, with the directories above it. */
    put(path: string, content: string | Uint8Array): string {
      const place = join(ground, path)
      mkdirSync(dirname(place), { recursive: true })
      writeFileSync(place, content)
      return place
    },
    /** A package below the root, as somebody would put it there by hand. */
    pack(path: string, text = ''): string {
      mkdirSync(join(root, path), { recursive: true })
      writeFileSync(join(root, path, 'SKILL.md'), text)
      return join(root, path)
    },
    read: (...path: readonly string[]) => readFileSync(join(root, ...path), 'utf8'),
    /** Everything below the root but what is empty and the server's own. */
    tree: () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => path !== '.making')
        .toSorted(),
    close: () => rmSync(ground, { recursive: true, force: true }),
  }
}
