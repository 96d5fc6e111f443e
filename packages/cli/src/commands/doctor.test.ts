/** Doctor names the backend that `up` takes, and what that depends on. */
import type { ProbedBackend } from '@holdfast/server'
import { expect, test } from 'vitest'
import { choiceOf, verdictOf } from './doctor.ts'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what the choice looks at
const found = (kind: string, images: boolean) =>
  ({ kind, probe: { available: true, version: '1', capabilities: { images } } }) as unknown as ProbedBackend
const missing: ProbedBackend = { kind: 'docker', probe: { available: false, reason: 'not there', fix: 'install it' } }
const both = [found('podman', true), missing, found('bubblewrap', false)]

test('an engine is taken only with its image, and the next one without', () => {
  expect(choiceOf({ backend: 'auto', image: 'python:3' }, both)).toEqual({ chosen: 'podman', otherwise: 'bubblewrap', image: 'python:3' })
})

test('a backend that is configured is the one, whatever else there is', () => {
  expect(choiceOf({ backend: 'bubblewrap', image: 'python:3' }, both)).toEqual({ chosen: 'bubblewrap', otherwise: null, image: null })
  expect(choiceOf({ backend: 'docker', image: 'python:3' }, both)).toEqual({ chosen: null, otherwise: null, image: null })
})

test('a machine without engines needs no image', () => {
  expect(choiceOf({ backend: 'auto', image: 'python:3' }, [missing, found('bubblewrap', false)])).toMatchObject({
    chosen: 'bubblewrap',
    image: null,
  })
})

test('a backend that refuses every sandbox is named with what makes it ready', () => {
  const choice = { chosen: 'podman', otherwise: 'bubblewrap', image: 'python:3' }
  const refusing = [
    { kind: 'bubblewrap', obstacles: ['memory cannot be limited: start the server as root', 'or give up these limits with --limits none'] },
  ]
  expect(verdictOf({ ...choice, refusing })).toBe(
    [
      'Sandboxes are made with podman if it has the image python:3 or can pull it, otherwise with bubblewrap.',
      'With the configured defaults bubblewrap refuses every sandbox:',
      '  memory cannot be limited: start the server as root',
      '  or give up these limits with --limits none',
    ].join('\n'),
  )
  expect(verdictOf({ ...choice, refusing: [] })).not.toContain('refuses')
})
