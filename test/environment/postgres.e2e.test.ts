/**
 * The private PostgreSQL answers while it lives, and leaves nothing behind.
 */
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { postgresObstacle, startPostgres } from './postgres.ts'

/** The protocol's first question, "may we speak TLS?": a server on a unix socket answers with the letter N. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
const obstacle = postgresObstacle()

test.skipIf(obstacle !== null)(
  `a private PostgreSQL answers on its socket and is gone after stop${obstacle ? ` (skipped: ${obstacle})` : ''}`,
  async () => {
    const postgres = await startPostgres()
    try {
      const socket = connect(join(postgres.host, `.s.PGSQL.${postgres.port}`))
      socket.write(SSL_REQUEST)
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toBe('N')
      socket.destroy()
    } finally {
      await postgres.stop()
    }
    expect(existsSync(postgres.host)).toBe(false)
  },
)
