/** What comes from the program or its configuration file cannot be changed over the API. */
import { HoldfastError } from '@holdfast/protocol'
import type { DefinitionSource } from '@holdfast/protocol'
import type { DefinitionKind } from '../../store/tables/definitions.ts'

export function readOnly(kind: DefinitionKind, name: string, source: DefinitionSource): HoldfastError {
  const place = source === 'built-in' ? 'is built in' : 'comes from the configuration file'
  return new HoldfastError('read_only', `the ${kind} '${name}' ${place} and is read-only`, { [kind]: name, source })
}
