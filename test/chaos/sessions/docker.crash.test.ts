/** Sessions survive the death of their server at some steps of each operation: Docker, half of them on each store. */
import { sessionsSurvive } from './sessions-suite.ts'

await sessionsSurvive('docker', 'SQLite', 'odd')
await sessionsSurvive('docker', 'PostgreSQL', 'even')
