/**
 * Every operation by its name.
 */
import { CREDENTIAL_OPERATIONS } from './credential-operations.ts'
import { CROWD_OPERATIONS } from './crowd-operations.ts'
import { LIFE_OPERATIONS } from './life-operations.ts'
import { LOAD_OPERATIONS } from './load-operation.ts'
import type { Operation } from './operation.ts'
import { WORK_OPERATIONS } from './work-operations.ts'

const ALL: Readonly<Record<string, Operation>> = {
  ...LIFE_OPERATIONS,
  ...WORK_OPERATIONS,
  ...CREDENTIAL_OPERATIONS,
  ...CROWD_OPERATIONS,
  ...LOAD_OPERATIONS,
}

/** Those with an end, and so with a number of steps. */
export const MATRIX_NAMES = Object.keys({ ...LIFE_OPERATIONS, ...WORK_OPERATIONS, ...CREDENTIAL_OPERATIONS, ...CROWD_OPERATIONS }).filter(
  (name) => ALL[name]?.isOnlyBefore !== true,
)

export function operationOf(name: string): Operation {
  const operation = ALL[name]
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  return operation
}
