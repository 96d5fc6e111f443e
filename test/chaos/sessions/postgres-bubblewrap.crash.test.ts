/** Sessions survive the death of their server at some steps of each operation: Bubblewrap, half of the operations on PostgreSQL. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('bubblewrap', 'PostgreSQL', [1, 2])
