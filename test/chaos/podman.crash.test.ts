/** What Podman holds survives the death of its server. */
import { survivesKills } from './killed-server.ts'

await survivesKills('podman')
