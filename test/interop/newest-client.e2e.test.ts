/** The newest client, which speaks another wire: all of it but what only that wire has. */
import { NEWEST_RELEASE } from './published-client.ts'
import { describeRelease } from './release-suite.ts'

await describeRelease({ release: NEWEST_RELEASE, kind: 'bubblewrap', hasSkills: false })
