/** A spinner shares its line with nobody. */
import { expect, test } from 'vitest'
import { startSpinner } from './spinner.ts'

test('a log line on a terminal begins on a line of its own', async () => {
  const shown = Promise.withResolvers<void>()
  let written = ''
  const terminal = {
    isTTY: true,
    columns: 80,
    write(text: string) {
      written += text
      shown.resolve()
      return true
    },
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a spinner uses of a terminal
  const spinner = startSpinner('looking for a backend', terminal as unknown as NodeJS.WriteStream)
  await shown.promise
  spinner.print('a line\n')
  spinner.stop()
  expect(written).toContain('looking for a backend\r\u001B[2Ka line\n')
})
