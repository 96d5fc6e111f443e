/** Published MCP servers and clients, on docker. */
import { describePublished } from './published-suite.ts'

await describePublished('docker')
