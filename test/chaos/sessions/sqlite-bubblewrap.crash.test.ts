/** Sessions survive the death of their server at any step: SQLite, Bubblewrap. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('bubblewrap', 'SQLite', [0, 1, 2, 3])
