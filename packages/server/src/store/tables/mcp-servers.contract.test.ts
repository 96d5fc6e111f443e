/** MCP servers and their runs on a real PostgreSQL. */
import { describe, test } from 'vitest'
import { noPostgres, openPostgresStoreForTest } from '../../../../../test/servers/database.ts'
import { mcpServersContract } from './contract/mcp-servers-contract.ts'

if (noPostgres === null) mcpServersContract('PostgreSQL', openPostgresStoreForTest)
else describe('PostgreSQL', () => test.skip(`MCP servers (skipped: ${noPostgres})`))
