/** `up` as a newcomer meets it: the lines that it prints are run as they are; Ctrl-C drains; the next start takes everything up. */
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lineRunner } from './contract/line-runner.ts'
import { onBubblewrap, PATIENCE_MS } from './contract/on-bubblewrap.ts'

// The tests decide when a stop ends, not the speed of the machine.
const settings = { HOLDFAST_SESSIONS_DRAIN_SECONDS: '600' }

onBubblewrap(
  'holdfast up',
  (stage) => {
    /** A printed line in another terminal, which has nothing of the environment of the server. */
    async function shell(printed: string): Promise<string> {
      const lines = lineRunner(stage().server, false)
      return lines.run(printed).finally(lines.end)
    }
    const line = (beginning: string) => {
      const found = stage()
        .server.said()
        .split('\n')
        .find((one) => one.replace(/^ *(HOLDFAST_HOME=\S+ )?/, '').startsWith(beginning))
      expect(found).toBeDefined()
      return found ?? ''
    }

    test('it names the file of the key, which is its owner’s only, and shows the key itself to no pipe', () => {
      const { home } = stage().server
      const file = join(home, 'admin.key')
      expect(stage().server.said()).not.toContain(readFileSync(file, 'utf8').trim())
      expect(stage().server.said()).toContain(`the admin key is in the file ${file}`)
      expect(stage().server.said()).toContain(`${stage().server.url}/docs`)
      expect(statSync(file).mode & 0o777).toBe(0o600)
    })

    test('the curl line and the line of this program run Python for the same chat', async () => {
      expect(JSON.parse(await shell(line('curl')))).toMatchObject({ exit_code: 0, stdout: '42\n', session: { key: 'group_123456' } })
      expect(await shell(line('holdfast exec'))).toBe('42\n')
      expect((await stage().server.holdfast(['sessions', 'ls', '-q'])).stdout.trim().split('\n')).toHaveLength(1)
    })

    test('after kill -9 the next start has the files and what ran, and says so', async () => {
      const { server } = stage()
      expect((await server.holdfast(['exec', '-s', 'group_123456', '-c', 'echo kept > note'])).code).toBe(0)
      const counting = 'i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done'
      expect((await server.holdfast(['exec', '-s', 'group_123456', '-d', '--name', 'counter', '-c', counting])).code).toBe(0)
      await server.stop('SIGKILL')
      stage().server = await server.again()
      const again = stage().server
      expect(again.said()).toContain('took up 1 session from before: 1 with what ran in it')
      expect(again.said()).not.toContain('shown only now')
      expect((await again.holdfast(['exec', '-s', 'group_123456', '--', 'cat', 'note'])).stdout).toBe('kept\n')
      const following = again.start(['logs', '-f', 'group_123456', 'counter'])
      const seen: number[] = []
      for await (const piece of following.stdout?.setEncoding('utf8') ?? []) {
        seen.push(...String(piece).trim().split('\n').map(Number))
        if (seen.length > 30) break
      }
      following.kill('SIGINT')
      expect(seen).toEqual(seen.map((_, index) => index + 1))
    })

    test('Ctrl-C waits for what runs and says so, and the next start finds the sessions', async () => {
      const { server } = stage()
      const child = server.start(['exec', '-s', 'group_123456', '-c', 'echo ready; sleep 2; echo done'])
      child.stdin?.end()
      const pieces: string[] = []
      const ready = Promise.withResolvers<void>()
      child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
        pieces.push(piece)
        ready.resolve()
      })
      await ready.promise
      const [stopped] = await Promise.all([server.stop('SIGINT'), once(child, 'close')])
      expect({ stopped, printed: pieces.join('') }).toEqual({ stopped: 0, printed: 'ready\ndone\n' })
      expect(server.said()).toContain('no new work is taken, and what runs is waited for')
      stage().server = await server.again()
      expect(stage().server.said()).toContain('took up 1 session')
    })

    test('a second Ctrl-C does not wait', async () => {
      const { server } = stage()
      const child = server.start(['exec', '-s', 'group_123456', '-c', 'echo ready; sleep 600'])
      child.stdin?.end()
      await once(child.stdout ?? child, 'data')
      server.process.kill('SIGINT')
      await expect.poll(() => server.said(), { timeout: PATIENCE_MS }).toContain('Ctrl-C again stops at once')
      expect(await server.stop('SIGINT')).toBe(130)
      stage().server = await server.again()
    })
  },
  { settings },
)
