/** Sessions survive the death of their server after each lasting step: PostgreSQL, Bubblewrap. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('bubblewrap', 'PostgreSQL', 'lasting')
