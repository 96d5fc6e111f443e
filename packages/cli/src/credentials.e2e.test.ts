/** `holdfast credentials`: a value from stdin or a file reaches the commands of its session, and is printed nowhere. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineRunner } from './contract/line-runner.ts'
import { onBubblewrap } from './contract/on-bubblewrap.ts'

onBubblewrap('credentials', (stage) => {
  test('are put from stdin and from a file, listed without values, and removed', async () => {
    const lines = lineRunner(stage().server)
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-credential-'))
    try {
      const { run } = lines
      writeFileSync(join(directory, 'cert'), 'line\nline\n')
      await run('holdfast sessions create lent -q')
      const put = await run('echo a-secret | holdfast credentials put lent TOKEN')
      expect(put).toMatch(/name +TOKEN\n/)
      expect(await run(`holdfast credentials put lent CERT --as-file -f ${join(directory, 'cert')} --keep-on-suspend`)).toContain(
        '/dev/shm/',
      )
      expect(await run(`holdfast exec lent -- sh -c 'echo "$TOKEN"; cat "$CERT"'`)).toBe('a-secret\nline\nline\n')
      const listed = await run('holdfast credentials ls lent')
      expect(listed).toMatch(/^NAME +AS +BYTES +ON SUSPEND +CREATED +REPLACED\nCERT +file +10 +keep .*\nTOKEN +env +8 +remove /)
      expect(put + listed).not.toContain('a-secret')
      expect(await run('holdfast credentials put lent TOKEN a-secret < /dev/null')).toContain('give <session> <name>; got 3')
      expect(await run('holdfast credentials rm lent TOKEN --keep-running -q')).toBe('TOKEN\n')
      expect(await run('holdfast credentials rm lent TOKEN')).toContain('there is no credential of this name')
      expect(await run('holdfast credentials ls lent -q')).toBe('CERT\n')
    } finally {
      rmSync(directory, { recursive: true, force: true })
      lines.end()
    }
  })
})
