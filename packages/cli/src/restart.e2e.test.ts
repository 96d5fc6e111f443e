/** A command that is waited for while its server goes away: followed to its end, or its end explained. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { onBubblewrap } from './contract/on-bubblewrap.ts'

/** Prints a line, waits for a file, prints another. */
const WAITING = 'echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; exit 3'

async function runsNow(child: ChildProcess): Promise<void> {
  child.stdin?.end()
  await once(child.stdout ?? child, 'readable')
}

async function endOf(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  if (child.stdout === null || child.stderr === null) throw new Error('it has no output')
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}

onBubblewrap('exec over a restart', (stage) => {
  test('after kill -9 the next start gives it its output and its exit code', async () => {
    const { server } = stage()
    const child = server.start(['exec', '-s', 'killed', '-c', WAITING])
    await runsNow(child)
    const end = endOf(child)
    await server.stop('SIGKILL')
    stage().server = await server.again()
    expect((await stage().server.holdfast(['exec', 'killed', '--', 'touch', 'go'])).code).toBe(0)
    const { code, stdout, stderr } = await end
    expect({ code, stdout }).toEqual({ code: 3, stdout: 'one\ntwo\n' })
    expect(stderr).toMatch(/the server went away; the command runs on.*holdfast logs -f ses_\w+ exe_\w+/)
  })

  test('a stop that cancels it says so, and where its output is', async () => {
    const { server } = stage()
    const child = server.start(['exec', '-s', 'stopped', '-c', WAITING])
    await runsNow(child)
    const [{ code, stdout, stderr }] = await Promise.all([endOf(child), server.stop('SIGTERM')])
    expect({ code, stdout }).toEqual({ code: 137, stdout: 'one\n' })
    const [, logs = ''] = /was cancelled, by a server that stopped.*`holdfast (logs ses_\w+ exe_\w+)`/.exec(stderr) ?? [stderr]
    stage().server = await server.again()
    expect((await stage().server.holdfast(logs.split(' '))).stdout).toBe('one\n')
  })
})
