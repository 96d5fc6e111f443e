/** Sessions survive the death of their server at any step: SQLite, Bubblewrap. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('bubblewrap', 'SQLite', 'all')
