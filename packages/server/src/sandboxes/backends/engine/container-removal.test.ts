/** Removal against an engine that is not ready for it. */
import { expect, test } from 'vitest'
import { removeContainer } from './container-removal.ts'
import { engineClient } from './engine-client.ts'
import { scriptedEngine } from './scripted-engine.ts'

test.each([409, 500])('an engine that answers %i at first is asked until the container is gone', async (status) => {
  let answers = 0
  await using engine = await scriptedEngine({
    '/containers/': (_request, response) => response.writeHead(++answers < 3 ? status : 404).end('{"message":"not yet"}'),
  })
  await removeContainer(engineClient('docker', { kind: 'unix', path: engine.path }), 'x')
  expect(answers).toBe(3)
})

test('a refusal that waiting does not mend is reported', async () => {
  await using engine = await scriptedEngine({ '/containers/': (_request, response) => response.writeHead(403).end('{"message":"no"}') })
  await expect(removeContainer(engineClient('docker', { kind: 'unix', path: engine.path }), 'x')).rejects.toMatchObject({
    code: 'backend_unavailable',
    details: { status: 403 },
  })
})
