/** Published MCP servers and clients, on bubblewrap. */
import { describePublished } from './published-suite.ts'

await describePublished('bubblewrap')
