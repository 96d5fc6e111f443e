/**
 * Which backends the suites run on. The first test file that asks makes the test machine start its engines; a run that asks for none starts none.
 *
 * ```ts
 * for (const backend of await backendsUnderTest()) {
 *   describe.skipIf(backend.skipReason !== null)(`${backend.kind} keeps the contract${because(backend)}`, …)
 * }
 * ```
 */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import type { BackendUnderTest } from './machine.ts'

export type { BackendUnderTest } from './machine.ts'

/** In the order of automatic choice. */
export async function backendsUnderTest(): Promise<readonly BackendUnderTest[]> {
  const answer: { readonly backends: readonly BackendUnderTest[] } | { readonly error: string } = JSON.parse(
    await text(connect(inject('testMachineSocket'))),
  )
  if ('error' in answer) throw new Error(answer.error)
  return answer.backends
}

/**
 * For suites of what stands above the backend port: bubblewrap in `npm test`, Docker in `npm run test:long -- docker`.
 *
 * In `npm test` every backend keeps the contracts of the port, and the crash suites, quotas, packing, homes and LangBot's clients run on several.
 */
export async function backendsAbovePort(): Promise<readonly BackendUnderTest[]> {
  const wanted = process.env['HOLDFAST_TEST_DOCKER'] === undefined ? 'bubblewrap' : 'docker'
  return (await backendsUnderTest()).filter(({ kind }) => kind === wanted)
}

/** For the name of a suite: empty when it runs, else ` (skipped: reason)`. */
export function because({ skipReason }: BackendUnderTest): string {
  return skipReason === null ? '' : ` (skipped: ${skipReason})`
}

/** Backends whose absence is a failure: `HOLDFAST_REQUIRE_BACKENDS=bubblewrap,docker`. */
export function requiredBackends(): readonly string[] {
  return (process.env.HOLDFAST_REQUIRE_BACKENDS ?? '').split(',').filter((kind) => kind !== '')
}
