/** A failure's class is found anywhere in its message, in the reference's order. */
import { expect, test } from 'vitest'
import { createBoxConnector } from '../connector/connector.ts'
import { memoryServer } from '../contract/memory-server.ts'
import { manualClock } from '../contract/manual-clock.ts'

const MESSAGES = {
  'BoxAdmissionError: no': 'BoxAdmissionError',
  'BoxReadinessError: no': 'BoxReadinessError',
  'BoxCapacityExceededError: no': 'BoxCapacityExceededError',
  'BoxValidationError: no': 'BoxValidationError',
  'BoxSessionNotFoundError: no': 'BoxSessionNotFoundError',
  'BoxSessionConflictError: no': 'BoxSessionConflictError',
  'BoxManagedProcessNotFoundError: no': 'BoxManagedProcessNotFoundError',
  'BoxManagedProcessConflictError: no': 'BoxManagedProcessConflictError',
  'BoxBackendUnavailableError: no': 'BoxBackendUnavailableError',
  'Action failed: BoxSessionNotFoundError: inside': 'BoxSessionNotFoundError',
  'BoxSessionNotFoundError: then BoxValidationError: first by order': 'BoxValidationError',
  'BoxRuntimeUnavailableError: plain': 'BoxError',
  'PermissionError: plain': 'BoxError',
  'BoxSessionNotFoundError without a colon': 'BoxError',
  'this connection is busy': 'BoxError',
}

test.each(Object.entries(MESSAGES))('%s', async (message, boxClass) => {
  const server = memoryServer()
  const target = { endpoint: 'http://box' }
  const connector = createBoxConnector({ target, instance: 'inst-1', clock: manualClock(), transport: server.open })
  await connector.start()
  server.script.on('box_health', { fails: message })
  await expect(connector.client.health()).rejects.toMatchObject({ boxClass, message })
  await connector.close()
})
