/**
 * A process that makes one measure on one backend.
 */
import { createGround, type Place } from '../ground.ts'
import { MEASURES } from '../measures/all.ts'
import { answer, readWork } from './run-child.ts'

const { under, needs, name, isQuick } = await readWork<Place & { readonly name: string; readonly isQuick: boolean }>()
const measure = MEASURES.find((candidate) => candidate.name === name)
if (measure === undefined) throw new Error(`there is no measure '${name}'`)
const ground = await createGround(under, needs, isQuick)
try {
  answer(await measure.run(ground))
} finally {
  await ground.close()
}
