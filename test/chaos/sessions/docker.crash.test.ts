/** Sessions survive the death of their server at some steps of each operation: Docker, a quarter of the operations on each store. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('docker', 'SQLite', [0])
await sessionsSurvive('docker', 'PostgreSQL', [2])
