/** Sessions survive the death of their server at some steps of each operation: Bubblewrap, half of the operations on SQLite. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('bubblewrap', 'SQLite', [0, 3])
