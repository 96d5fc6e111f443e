/** Options mean what the usage says, and nothing is guessed. */
import { expect, test } from 'vitest'
import { parseOptions } from './options.ts'

test('without options everything that was promised is measured, as a whole run', () => {
  expect(parseOptions([])).toMatchObject({ kinds: ['docker', 'bubblewrap'], isQuick: false, isStrict: false, isWhole: true })
})

test('all backends make a whole run too', () => {
  expect(parseOptions(['--all'])).toMatchObject({ kinds: ['podman', 'docker', 'nsjail', 'bubblewrap'], isWhole: true })
})

test('a chosen measure, a single backend or few runs make a partial run', () => {
  for (const args of [['--only', 'warm'], ['--backend', 'bubblewrap'], ['--quick']])
    expect(parseOptions(args)).toMatchObject({ isWhole: false })
})

test('names may be repeated or listed', () => {
  expect(parseOptions(['--only', 'warm,cold', '--only', 'echo'])).toMatchObject({ measures: ['warm', 'cold', 'echo'] })
})

test('unknown names and options are refused with what there is', () => {
  expect(() => parseOptions(['--only', 'fast'])).toThrow("there is no measure 'fast'; there are: warm,")
  expect(() => parseOptions(['--backend', 'lxc'])).toThrow("there is no backend 'lxc'")
  expect(() => parseOptions(['--fast'])).toThrow('--fast')
})

test('help is asked for', () => {
  expect(parseOptions(['-h'])).toBe('help')
})
