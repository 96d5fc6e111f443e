/** Installs and removes the same archive until it is killed. */
import { jsonLog } from '../../telemetry/log.ts'
import { createSkillStore } from '../skill-store.ts'
import { writeZip } from './zip-writer.ts'

const [directory = ''] = process.argv.slice(2)
const store = createSkillStore({ directory, clock: Date.now, log: jsonLog('error') })
const archive = writeZip([
  { name: 'SKILL.md', content: '---\nname: whole\n---\n' },
  ...Array.from({ length: 99 }, (_, index) => ({ name: `data/f${index}`, content: `file ${index}` })),
])
for (;;) {
  await store.installZip(archive, { filename: 'whole.zip' })
  await store.remove('whole')
}
