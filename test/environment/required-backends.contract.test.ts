/**
 * A test machine that was promised a backend has it.
 */
import { describe, expect, test } from 'vitest'
import { BACKEND_KINDS } from '../../packages/server/src/sandboxes/backend.ts'
import { backendsUnderTest, requiredBackends } from './backends.ts'

const required = requiredBackends()
const backends = await backendsUnderTest()

describe('the test machine', () => {
  test('knows every backend, in the order of automatic choice', () => {
    expect(backends.map(({ kind }) => kind)).toEqual(BACKEND_KINDS)
  })

  test.for(required)('has %s, which HOLDFAST_REQUIRE_BACKENDS names', (kind) => {
    const backend = backends.find((candidate) => candidate.kind === kind)
    expect(backend, `unknown backend '${kind}'`).toBeDefined()
    expect(backend?.skipReason).toBeNull()
  })
})
