/**
 * The settings of a server that makes its sandboxes with a backend under test.
 */
import type { BackendUnderTest } from '../../../../../../test/environment/backends.ts'

export function settingsOf({ kind, settings }: BackendUnderTest): Readonly<Record<string, string>> {
  return {
    HOLDFAST_BACKEND: kind,
    ...(settings.dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: `unix://${settings.dockerSocket}` }),
    ...(settings.image === undefined ? {} : { HOLDFAST_IMAGE: settings.image }),
  }
}
