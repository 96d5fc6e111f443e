/**
 * A bounded pool of connections to one PostgreSQL database.
 *
 * Stands beside the flow. Loads the client library only when it is called, so that a server on SQLite never pays for it.
 */
import type { ClientConfig, Pool } from 'pg'
import { COLUMN_TYPES } from './column-types.ts'

const MAX_CONNECTIONS = 10
/** A server that takes longer to accept a connection is not there. */
const CONNECT_TIMEOUT_MS = 5_000
/** Longer than a checkpoint stalls a busy database: a burst of callers at ten connections waits instead of being refused. */
const QUEUE_TIMEOUT_MS = 20_000
const STATEMENT_TIMEOUT_MS = 30_000
/** Counted here and not by the server, so it also ends the wait for one that fell silent. */
const ANSWER_TIMEOUT_MS = 40_000

export interface OpenPool {
  readonly pool: Pool
  /** Host and database, for messages. */
  readonly place: string
}

export async function openPool(address: string | ClientConfig): Promise<OpenPool> {
  const { default: pg } = await import('pg')
  const options = {
    application_name: 'holdfast',
    keepAlive: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    ...(typeof address === 'string' ? { connectionString: address } : address),
    types: COLUMN_TYPES,
  }
  // The pool passes its options on to each client, and has one name for two waits.
  class Client extends pg.Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
    }
  }
  const pool = new pg.Pool({ ...options, Client, connectionTimeoutMillis: QUEUE_TIMEOUT_MS, max: MAX_CONNECTIONS })
  // A connection that breaks is dropped by the pool; whoever was using it hears of it from its own statement.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const { host, port, database } = new pg.Client(options)
  return { pool, place: `${host}:${port}/${database ?? ''}` }
}
