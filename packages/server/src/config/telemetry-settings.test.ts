/** The settings of logs, metrics and traces: what they take, and what they refuse. */
import { expect, test } from 'vitest'
import { loadConfig } from '../config.ts'

const configOf = (environment: NodeJS.ProcessEnv) => loadConfig({}, { HOLDFAST_HOME: '/nowhere', ...environment })

test('by default logs are text on a terminal and JSON elsewhere, metrics need a key and nothing is traced', () => {
  expect(configOf({})).toMatchObject({ logLevel: 'info', logFormat: 'auto', isMetricsPublic: false, otlpUrl: null })
})

test('each can be set', () => {
  const settings = {
    HOLDFAST_LOG_FORMAT: 'text',
    HOLDFAST_METRICS_PUBLIC: 'true',
    HOLDFAST_TELEMETRY_OTLP_URL: 'https://collector:4318/otlp',
  }
  expect(configOf(settings)).toMatchObject({ logFormat: 'text', isMetricsPublic: true, otlpUrl: 'https://collector:4318/otlp' })
})

test.each([
  ['HOLDFAST_LOG_FORMAT', 'xml'],
  ['HOLDFAST_METRICS_PUBLIC', 'yes'],
  ['HOLDFAST_TELEMETRY_OTLP_URL', 'collector:4318'],
  ['HOLDFAST_TELEMETRY_OTLP_URL', 'ftp://collector'],
  ['HOLDFAST_TELEMETRY_OTLP_URL', 'http://user:word@collector'],
  ['HOLDFAST_TELEMETRY_OTLP_URL', 'http://collector/?token=word'],
])('%s=%s is refused by its name', (name, value) => {
  expect(() => configOf({ [name]: value })).toThrow(name)
})
