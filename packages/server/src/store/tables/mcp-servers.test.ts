/** MCP servers and their runs on SQLite. */
import { openSqliteStore } from '../sqlite/sqlite-store.ts'
import { mcpServersContract } from './contract/mcp-servers-contract.ts'

mcpServersContract('SQLite', () => openSqliteStore(':memory:'))
