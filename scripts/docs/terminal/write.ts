/** Records the session of the README's picture anew and draws it: `node scripts/docs/terminal/write.ts`. Port 5410 must be free. */
import { writeFileSync } from 'node:fs'
import { PICTURE, pictureOf, TRANSCRIPT } from './picture.ts'
import { recordSession } from './record.ts'

const transcript = await recordSession(5410)
writeFileSync(TRANSCRIPT, transcript)
writeFileSync(PICTURE, pictureOf(transcript))
