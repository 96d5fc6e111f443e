/** What an MCP server is called: in addresses, in the box's file system, and in front of its tools' names. */
import { z } from 'zod'

export const SERVER_NAME_PROBLEM = 'must be 1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit'

export const McpServerName = z
  .string({ error: SERVER_NAME_PROBLEM })
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, { error: SERVER_NAME_PROBLEM })
