/** Sessions survive the death of their server at any step: PostgreSQL, Bubblewrap. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('bubblewrap', 'PostgreSQL', [0, 1, 2, 3])
