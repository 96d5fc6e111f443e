/** The header `traceparent`: what counts as sent, and what does not. */
import { expect, test } from 'vitest'
import { remoteSpanOf, untraced } from './tracing.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

test('a good one names a span of somebody else', () => {
  expect(remoteSpanOf(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, flags: 1 })
  expect(remoteSpanOf(`00-${TRACE}-${SPAN}-00`)).toMatchObject({ flags: 0 })
  expect(remoteSpanOf(`cc-${TRACE}-${SPAN}-01-what-will-be`)).toMatchObject({ traceId: TRACE })
})

test.each([
  ['nothing', undefined],
  ['an empty one', ''],
  ['no version', `${TRACE}-${SPAN}-01`],
  ['the version that must not be', `ff-${TRACE}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['capitals', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ['too much for its version', `00-${TRACE}-${SPAN}-01-more`],
  ['something before it', ` 00-${TRACE}-${SPAN}-01`],
  ['a line after it', `00-${TRACE}-${SPAN}-01\n`],
  ['a megabyte', `00-${'a'.repeat(1_000_000)}`],
])('%s counts as not sent', (_what, header) => expect(remoteSpanOf(header)).toBeNull())

test('where nothing is traced, work is only done', async () => {
  const work = () => Promise.resolve(7)
  expect(untraced.bind(work)).toBe(work)
  expect(await untraced.step('store.read', work)).toBe(7)
  expect(await untraced.request('GET', null, async ({ traceId }) => traceId)).toBeNull()
})
