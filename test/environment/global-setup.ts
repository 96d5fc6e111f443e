/**
 * Runs once around all tests: cleans up after killed runs, starts the engines and the PostgreSQL server that all test files share, and ends them.
 *
 * Test files run in processes of their own, so they ask through sockets. Each starts with the first question.
 */
import { writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import type { TestProject } from 'vitest/node'
import { cleanUp, cleanUpAbandoned } from './clean-up.ts'
import { prepareMachine, type BackendUnderTest } from './machine.ts'
import { startPostgres, type PrivatePostgres } from './postgres.ts'
import { createRunDirectory } from './run-directory.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    testMachineSocket: string
    testPostgresSocket: string
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await cleanUpAbandoned()
  const directory = await createRunDirectory()
  let postgres: Promise<PrivatePostgres> | undefined
  const servers = [
    await serve(join(directory, 'ask.sock'), async () => ({ backends: await prepareAndNote(directory) })),
    await serve(join(directory, 'postgres.sock'), async () => ({ postgres: await (postgres ??= startPostgres()) })),
  ]
  project.provide('testMachineSocket', join(directory, 'ask.sock'))
  project.provide('testPostgresSocket', join(directory, 'postgres.sock'))
  return async () => {
    for (const server of servers) server.close()
    await (await postgres?.catch(() => undefined))?.stop()
    await cleanUp(directory)
  }
}

/** Answers every question with the same JSON, which the first one makes. */
async function serve(socketPath: string, prepare: () => Promise<object>): Promise<Server> {
  let answer: Promise<string> | undefined
  const server = createServer((socket) => {
    answer ??= prepare().then(
      (prepared) => JSON.stringify(prepared),
      (error: unknown) => JSON.stringify({ error: String(error) }),
    )
    void reply(socket, answer)
  })
  server.listen(socketPath)
  await once(server, 'listening')
  return server
}

async function reply(socket: Socket, answer: Promise<string>): Promise<void> {
  socket.on('error', () => {}) // the test file is gone; nobody waits for the answer
  socket.end(await answer)
}

/** `npm test` reads the note to say at the end which backends were covered. */
async function prepareAndNote(directory: string): Promise<readonly BackendUnderTest[]> {
  const backends = await prepareMachine(directory)
  const reportDirectory = process.env.HOLDFAST_TEST_REPORT
  if (reportDirectory !== undefined) writeFileSync(join(reportDirectory, 'backends.json'), JSON.stringify(backends))
  return backends
}
