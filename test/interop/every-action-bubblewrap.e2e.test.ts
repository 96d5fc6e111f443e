/** Every action of the Box door, by the client whose wire it speaks, on bubblewrap. */
import { CURRENT_RELEASE } from './published-client.ts'
import { describeRelease } from './release-suite.ts'

await describeRelease({ release: CURRENT_RELEASE, kind: 'bubblewrap', hasSkills: true })
