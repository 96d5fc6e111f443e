/** A backup holds everything that the server keeps, and a restored home serves it again. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onBubblewrap } from './contract/on-bubblewrap.ts'
import { realServer, removeServer } from './contract/real-server.ts'

onBubblewrap('holdfast backup', (stage) => {
  test('files, skills and settings come back in another home', async () => {
    const { server } = stage()
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-backup-'))
    const [file, home] = [join(directory, 'holdfast.tar'), join(directory, 'home')]
    try {
      expect((await server.holdfast(['exec', 'demo', '-c', 'echo kept > note'])).code).toBe(0)
      expect((await server.holdfast(['skills', 'add', 'reviewer', '--description', 'x'], '# Reviewer\nBe kind.\n')).code).toBe(0)
      const shown = await server.holdfast(['skills', 'show', 'reviewer'])
      expect(shown.stdout).toContain('\n# Reviewer\nBe kind.\n')
      writeFileSync(join(server.home, 'holdfast.yaml'), 'sessions:\n  max: 77\n')

      expect(await server.holdfast(['backup', file])).toMatchObject({ code: 0, stdout: '' })
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect(await server.holdfast(['backup', file])).toMatchObject({ code: 2, stderr: expect.stringContaining('exists') })
      expect(await server.holdfast(['restore', file])).toMatchObject({ code: 2, stderr: expect.stringContaining('has a database') })
      expect(await server.holdfast(['restore', file, '--home', home])).toMatchObject({ code: 0 })
      // The lock of the restore itself stays, its journal was that of the server.
      for (const name of ['sandboxes', 'server.pid', 'server.lock-journal']) expect(existsSync(join(home, name))).toBe(false)

      // Both have the same server id, so only one of them may run.
      await server.stop()
      const restored = await realServer({ HOLDFAST_BACKEND: 'bubblewrap' }, undefined, home)
      try {
        expect((await restored.holdfast(['exec', 'demo', '--', 'cat', 'note'])).stdout).toBe('kept\n')
        expect((await restored.holdfast(['skills', 'ls', '-q'])).stdout).toBe('reviewer\n')
        expect((await restored.holdfast(['config', 'show'])).stdout).toMatch(/sessions\.max +77/)
      } finally {
        await removeServer(restored)
      }
      stage().server = await server.again()
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
