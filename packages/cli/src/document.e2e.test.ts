/** docs/cli.md: every line in it is run, and prints what the document says. */
import { expect, test } from 'vitest'
import { normalised, readDocument, withOutputs } from './contract/document.ts'
import { lineRunner } from './contract/line-runner.ts'
import { onBubblewrap } from './contract/on-bubblewrap.ts'

onBubblewrap('docs/cli.md', (stage) => {
  test('each line prints what stands under it', async () => {
    const lines = lineRunner(stage().server)
    try {
      const document = readDocument()
      expect(normalised(await withOutputs(document, lines.run))).toBe(normalised(document))
    } finally {
      lines.end()
    }
  })
})
