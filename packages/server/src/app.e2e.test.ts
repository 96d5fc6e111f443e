/** The whole server over a real socket and real sandboxes: the main job, loss, concurrency, clean-up. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecResult } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backendsUnderTest, because } from '../../../test/environment/backends.ts'
import { startServer } from './app.ts'
import type { RunningServer } from './app.ts'
import { loadConfig } from './config.ts'
import { jsonLog } from './telemetry/log.ts'

const COVERED = ['bubblewrap', 'docker']
const subjects = (await backendsUnderTest()).filter(({ kind }) => COVERED.includes(kind))

for (const subject of subjects) {
  describe.skipIf(subject.skipReason !== null)(`the server on ${subject.kind}${because(subject)}`, () => {
    let home: string
    let server: RunningServer
    const logged: string[] = []

    const start = (settings: NodeJS.ProcessEnv = {}) =>
      startServer(
        loadConfig(
          {},
          {
            HOLDFAST_HOME: home,
            HOLDFAST_PORT: '0',
            HOLDFAST_BACKEND: subject.kind,
            HOLDFAST_DOCKER_HOST: subject.settings.dockerSocket,
            HOLDFAST_IMAGE: subject.settings.image,
            HOLDFAST_SESSIONS_ON_STOP: 'suspend',
            ...settings,
          },
        ),
        jsonLog('debug', (line) => logged.push(line)),
      )
    const post = (body: object, init: Omit<RequestInit, 'headers'> & { readonly headers?: Record<string, string> } = {}) =>
      fetch(`${server.url}/v1/exec`, {
        method: 'POST',
        body: JSON.stringify(body),
        ...init,
        headers: { authorization: `Bearer ${readFileSync(join(home, 'admin.key'), 'utf8').trim()}`, ...init.headers },
      })
    const exec = async (body: object) => ExecResult.parse(await (await post(body)).json())
    const live = async () => (await server.chosen.backend.list()).map(({ name }) => name)

    beforeEach(async () => {
      home = mkdtempSync(join(tmpdir(), 'holdfast-app-'))
      logged.length = 0
      server = await start()
    })
    afterEach(async () => {
      await server.close()
      expect(await live()).toEqual([])
      rmSync(home, { recursive: true, force: true })
    })

    test('a command runs in the session’s own sandbox, and its files are there at the next call', async () => {
      const first = await exec({ session: 'a', command: 'echo hello > note; id -u; echo oops >&2; exit 3' })
      expect(first).toMatchObject({
        exit_code: 3,
        status: 'completed',
        stderr: 'oops\n',
        session: { key: 'a', incarnation: 1, workspace: 'intact' },
      })
      expect(first.stdout).not.toBe('0\n')
      const second = await exec({ session: 'a', argv: ['cat', 'note'] })
      expect(second).toMatchObject({ stdout: 'hello\n', session: { id: first.session.id, incarnation: 1 } })
      expect((await exec({ session: 'b', command: 'cat note' })).exit_code).not.toBe(0)
    })

    test('callers that meet at a new key share one sandbox, and keys that look alike do not', async () => {
      const results = await Promise.all(['a/b', 'a/b', 'a/b', 'a:b'].map((session) => exec({ session, command: 'true' })))
      expect(new Set(results.map(({ session }) => session.id)).size).toBe(2)
      expect(await live()).toHaveLength(2)
    })

    test('stdin, environment and directory reach the program; output need not be UTF-8', async () => {
      const result = await exec({
        session: 'a',
        command: 'cat; echo "$GREETING $PWD"; printf "\\377"',
        stdin: 'é',
        env: { GREETING: 'hi' },
        cwd: '/tmp',
      })
      expect(result.stdout).toBe('éhi /tmp\n\uFFFD')
    })

    test('output above 1 MiB is cut and says so', async () => {
      const result = await exec({ session: 'a', command: 'head -c 5000000 /dev/zero | tr "\\0" x; echo end >&2' })
      expect(result).toMatchObject({ exit_code: 0, stdout_truncated: true, stderr_truncated: false, stderr: 'end\n' })
      expect(result.stdout.length).toBe(1024 * 1024)
    })

    test('a time-out ends that command only', async () => {
      const slow = exec({ session: 'a', command: 'sleep 60', timeout_ms: 100 })
      expect(await exec({ session: 'a', command: 'echo fine' })).toMatchObject({ stdout: 'fine\n' })
      expect(await slow).toMatchObject({ status: 'timed_out', exit_code: null, signal: 'SIGKILL' })
    })

    test('a caller who hangs up cancels the command', async () => {
      const caller = new AbortController()
      const response = await post(
        { session: 'a', command: 'echo $$; exec sleep 60' },
        { headers: { accept: 'text/event-stream' }, signal: caller.signal },
      )
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      while (!text.includes('event: stdout')) text += (await reader?.read())?.value ?? ''
      const pid = /"data":"(\d+)/.exec(text)?.[1]
      caller.abort()
      const result = await exec({
        session: 'a',
        command: `while kill -0 ${pid} 2>/dev/null; do sleep 0.01; done; echo gone`,
        timeout_ms: 10_000,
      })
      expect(result).toMatchObject({ stdout: 'gone\n', session: { incarnation: 1 } })
    })

    test('a sandbox that died is replaced over the same workspace, and the caller is told once', async () => {
      await exec({ session: 'a', command: 'echo kept > note' })
      const [name = ''] = await live()
      await server.chosen.backend.destroy(name)
      const next = await exec({ session: 'a', command: 'cat note' })
      expect(next).toMatchObject({ stdout: 'kept\n', session: { incarnation: 2, workspace: 'intact' } })
      expect(next.session.notice).toMatch(/stopped unexpectedly.*workspace are intact/)
      expect((await exec({ session: 'a', command: 'true' })).session.notice).toBeUndefined()
    })

    test('other values for a live session are 409 naming the fields', async () => {
      await exec({ session: 'a', command: 'true', limits: { pids: 64 } })
      const response = await post({ session: 'a', command: 'true', limits: { pids: 65 } })
      expect(response.status).toBe(409)
      expect(await response.json()).toMatchObject({ code: 'session_incompatible', details: { fields: ['limits.pids'] } })
      expect((await exec({ session: 'a', command: 'true', limits: { pids: 64 } })).exit_code).toBe(0)
    })

    test('what cannot be started is refused and leaves nothing', async () => {
      const refusals = [
        [{ session: 'a', argv: ['x'.repeat(140_000)] }, 'invalid_request'],
        [
          { session: 'a', command: 'true', image: '127.0.0.1:1/no/such' },
          subject.kind === 'docker' ? 'image_missing' : 'capability_unsupported',
        ],
      ] as const
      for (const [body, code] of refusals) expect(await (await post(body)).json()).toMatchObject({ code })
      expect(await live()).toEqual([])
      // The refusal does not wait for the clean-up.
      await expect.poll(() => readdirSync(join(home, 'workspaces'))).toEqual([])
      expect(await (await post({ session: 'a', argv: ['no-such-program'] })).json()).toMatchObject({
        code: 'command_not_started',
        details: { errno: 'ENOENT' },
      })
    })

    test('a second server on the same home is refused, naming the first', async () => {
      await expect(start()).rejects.toMatchObject({ code: 'home_locked', message: expect.stringContaining(`pid ${process.pid}`) })
    })

    test('stopping lets a running command end, then refuses and removes; the workspace outlives it', async () => {
      const running = await post(
        { session: 'a', command: 'echo ready; sleep 0.3; echo kept > note' },
        { headers: { accept: 'text/event-stream' } },
      )
      const closing = server.close()
      expect(await running.text()).toContain('"status":"completed"')
      await closing
      await expect(fetch(`${server.url}/healthz`)).rejects.toThrow('fetch failed')
      server = await start()
      const again = await exec({ session: 'a', command: 'cat note' })
      expect(again).toMatchObject({ stdout: 'kept\n', session: { incarnation: 2 } })
      expect(again.session.notice).toContain('the server was restarted')
    })

    test('a sandbox without work is removed, its place is free again, and its session goes on', async () => {
      await server.close()
      server = await start({ HOLDFAST_SESSIONS_IDLE_SECONDS: '1', HOLDFAST_SESSIONS_MAX: '1', HOLDFAST_SESSIONS_WHEN_FULL: 'refuse' })
      await exec({ session: 'a', command: 'echo kept > note' })
      expect((await post({ session: 'b', command: 'true' })).status).toBe(429)
      await expect.poll(live).toEqual([])
      const next = await exec({ session: 'a', command: 'cat note' })
      expect(next).toMatchObject({ stdout: 'kept\n', session: { incarnation: 2 } })
    })

    test('neither commands, nor their environment, nor the key reach the log', async () => {
      await exec({ session: 'a', command: 'echo top-secret-command', env: { TOKEN: 'top-secret-value' }, stdin: 'top-secret-input' })
      await post({ session: 'a', argv: ['top-secret-program'] })
      const log = logged.join('')
      expect(log).toContain('sandbox-started')
      expect(log).not.toContain('top-secret')
      expect(log).not.toContain(readFileSync(join(home, 'admin.key'), 'utf8').trim())
    })
  })
}
