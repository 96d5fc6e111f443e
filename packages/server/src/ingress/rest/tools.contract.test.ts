/** What a model is offered, over REST, on real bubblewrap and Docker: each tool's result, its bounds, and who may call it. */
import { readFileSync } from 'node:fs'
import { TOOL_NAMES, TOOL_SHAPES, ToolFailure } from '@holdfast/protocol'
import type { ToolName } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsAbovePort, because } from '../../../../../test/environment/backends.ts'
import { openRealServer } from './contract/real-server.ts'
import type { RealServer } from './contract/real-server.ts'

const subjects = await backendsAbovePort()

for (const under of subjects)
  describe.skipIf(under.skipReason !== null)(`tools on ${under.kind}${because(under)}`, () => {
    let real: RealServer
    let ada: string
    let operator: string
    let session: string
    beforeAll(async () => {
      const { dockerSocket = '', image = '' } = under.settings
      real = await openRealServer({
        HOLDFAST_BACKEND: under.kind,
        ...(under.kind === 'docker' ? { HOLDFAST_DOCKER_HOST: dockerSocket, HOLDFAST_IMAGE: image } : {}),
      })
      ada = await real.keyOf({ subject: 'ada' })
      operator = await real.keyOf({ subject: 'ada', name: 'ada as operator', role: 'operator' })
      session = await real.session('work', {}, ada)
    })
    afterAll(() => real.close())

    const ask = (name: string, body: object, key = ada) =>
      real.request(`/v1/tools/${name}`, { method: 'POST', body: JSON.stringify(body), key })
    /** The result, which is what its schema says and nothing more. */
    async function call(name: ToolName, input: unknown, key = ada, id = session): Promise<Record<string, unknown>> {
      const response = await ask(name, { session_id: id, input }, key)
      const body = (await response.json()) as Record<string, unknown>
      expect(response.status, JSON.stringify(body)).toBe(200)
      const told = 'error' in body ? ToolFailure.parse(body) : TOOL_SHAPES[name].result.parse(body)
      expect(told).toEqual(body)
      return body
    }
    const sh = (command: string, key = ada) => real.sh(session, command, key)
    const failed = (error: RegExp | string) => ({ ok: false, error: expect.stringMatching(error) as string })

    describe('what they are', () => {
      test('anybody with a key reads the schemas and the guidance, also as functions', async () => {
        const plain = (await (await real.request('/v1/tools', { key: ada })).json()) as { guidance: string; tools: { name: string }[] }
        expect(plain.tools.map(({ name }) => name)).toEqual([...TOOL_NAMES])
        expect(plain.guidance).toContain('/workspace')
        const functions = (await (await real.request('/v1/tools?format=openai', { key: ada })).json()) as { tools: unknown[] }
        expect(functions.tools[0]).toMatchObject({
          type: 'function',
          function: { name: 'exec', parameters: { type: 'object', additionalProperties: false, required: ['command'] } },
        })
        expect((await fetch(`${real.server.url}/v1/tools`)).status).toBe(401)
      })

      test('a call can be heard while it is at work; who may not is refused before that', async () => {
        const headers = { accept: 'text/event-stream' }
        const heard = async (input: object) => {
          const body = JSON.stringify({ session_id: session, input })
          const response = await real.request('/v1/tools/exec', { method: 'POST', body, key: ada, headers })
          expect(response.headers.get('content-type')).toContain('text/event-stream')
          return [...(await response.text()).matchAll(/^event: (?<event>.*)\ndata: (?<data>.*)$/gm)].map(({ groups }) => ({
            event: groups?.['event'],
            data: JSON.parse(groups?.['data'] ?? '') as unknown,
          }))
        }
        const told = await heard({ command: 'echo one; echo two >&2' })
        expect(told.slice(0, -1)).toEqual(
          expect.arrayContaining([
            { event: 'progress', data: { text: 'one' } },
            { event: 'progress', data: { text: 'two' } },
          ]),
        )
        const last = told.at(-1)
        expect(last).toMatchObject({ event: 'result', data: { ok: true, stdout: 'one\n', stderr: 'two\n' } })
        expect(TOOL_SHAPES.exec.result.parse(last?.data)).toEqual(last?.data)
        expect(await heard({})).toEqual([{ event: 'result', data: failed(/^command: /) }])
        const bob = await real.keyOf({ subject: 'bob', name: 'bob who listens' })
        const body = JSON.stringify({ session_id: session, input: { command: 'true' } })
        const hidden = await real.request('/v1/tools/exec', { method: 'POST', body, key: bob, headers })
        expect([hidden.status, hidden.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
      })

      test('a call that the model got wrong is a result for the model; nothing is done', async () => {
        expect(await call('exec', {})).toEqual(failed(/^command: /))
        expect(await call('exec', { command: 'true', session_id: 'x' })).toEqual(failed('session_id: is not a known field'))
        expect(await call('read', { path: 'a', limit: 10_001 })).toEqual(failed('limit: must be at most 10000'))
        expect(await call('grep', { pattern: 'x'.repeat(1_025) })).toEqual(failed('at most 1024 characters'))
        expect(await call('write', 'no object')).toEqual(failed(/./))
      })

      test('who may not is refused as everywhere: another owner finds nothing, a viewer may not, an unknown tool is not there', async () => {
        const ben = await real.keyOf({ subject: 'ben' })
        const viewer = await real.keyOf({ subject: 'vera', role: 'viewer' })
        for (const name of TOOL_NAMES) {
          const [hidden, missing] = await Promise.all([
            ask(name, { session_id: session, input: {} }, ben),
            ask(name, { session_id: 'ses_0000000000000000', input: {} }, ben),
          ])
          expect([hidden.status, missing.status]).toEqual([404, 404])
          expect((await ask(name, { session_id: session, input: {} }, viewer)).status).toBe(403)
        }
        expect((await ask('format_disk', { session_id: session, input: {} })).status).toBe(404)
        expect((await ask('exec', { input: { command: 'true' } })).status).toBe(400)
        const shaped = await ask('exec', { session_id: session, profile: 'default', input: { command: 'true' } })
        expect(await shaped.json()).toMatchObject({ status: 400, details: { problems: [{ field: 'profile' }] } })
        expect((await ask('exec', { session_id: session, host_path: '/', input: { command: 'true' } })).status).toBe(400)
      })

      test('a conversation gets its session by its key or its scope', async () => {
        const variables = { launcher_type: 'group', launcher_id: '42' }
        const first = await ask('exec', { scope: 'chat', variables, input: { command: 'echo here > a' } })
        const second = (await (await ask('read', { scope: 'chat', variables, input: { path: 'a' } })).json()) as { content: string }
        expect(second.content).toBe('here')
        const byKey = await ask('exec', { session: 'work', input: { command: 'true' } })
        expect(byKey.headers.get('holdfast-session')).toBe(session)
        expect(first.headers.get('holdfast-session')).toMatch(/^ses_/)
        expect(first.headers.get('holdfast-session')).not.toBe(session)
      })
    })

    describe('exec', () => {
      test('tells both streams once and the exit, and nothing that the model has no use for', async () => {
        expect(await call('exec', { command: 'echo out; echo "$WHO" >&2; pwd; exit 3', env: { WHO: 'me' }, workdir: '/tmp' })).toEqual({
          ...{ status: 'completed', ok: false, exit_code: 3 },
          ...{ stdout: 'out\n/tmp\n', stderr: 'me\n', stdout_truncated: false, stderr_truncated: false },
          ...{ duration_ms: expect.any(Number) as number, truncated: false },
        })
        expect(await call('exec', { command: 'pwd' })).toMatchObject({
          ok: true,
          exit_code: 0,
          stdout: '/workspace\n',
        })
      })

      test('of long output the beginning and the end come, each stream apart', async () => {
        const long = await call('exec', { command: 'seq 1 500000; echo short >&2' })
        const stdout = String(long['stdout'])
        expect(stdout).toHaveLength(30_000)
        expect(stdout).toMatch(/^1\n2\n3\n[^]*\[\.\.\. cut here: the whole has 3388895 bytes \.\.\.\][^]*499999\n500000\n$/)
        expect(long).toMatchObject({ stderr: 'short\n', stdout_truncated: true, stderr_truncated: false, truncated: true })
        expect(long['truncated_by']).toBe('characters')
      })

      test('one that takes too long is ended; the session lives on', async () => {
        const late = await call('exec', { command: 'echo begun; sleep 100', timeout_sec: 2 })
        expect(late).toMatchObject({ status: 'timed_out', ok: false, stdout: 'begun\n' })
        expect(late['cause']).toMatch(/^the command ran for its timeout of 2 s and was killed/)
        expect(await call('exec', { command: 'echo alive' })).toMatchObject({ ok: true, stdout: 'alive\n' })
      })

      test('what cannot be started is told', async () => {
        expect(await call('exec', { command: 'true', workdir: '/nowhere' })).toEqual(failed('/nowhere'))
      })

      test('one whose caller leaves is killed inside', async () => {
        const leaving = new AbortController()
        const asked = real.request('/v1/tools/exec', {
          method: 'POST',
          key: ada,
          body: JSON.stringify({ session_id: session, input: { command: 'echo $$ > pid; mkfifo gone; cat gone' } }),
          signal: leaving.signal,
        })
        await sh('while ! test -p gone; do :; done')
        leaving.abort()
        await expect(asked).rejects.toThrow()
        await sh('while kill -0 "$(cat pid)" 2>/dev/null; do :; done')
      })
    })

    describe('processes', () => {
      test('one is started by a name, listed, read and stopped; a wrong name is an error for the model', async () => {
        const command = 'echo "up in $PWD"; echo warned >&2; exec sleep 1000'
        expect(await call('process_start', { name: 'web', command, workdir: '/tmp' })).toMatchObject({
          ...{ ok: true, name: 'web', status: 'running', exit_code: null },
        })
        expect(await call('process_start', { name: 'web', command })).toEqual(failed('web'))
        expect(await call('process_list', {})).toMatchObject({
          ok: true,
          processes: [{ name: 'web', status: 'running' }],
          truncated: false,
        })
        await expect
          .poll(async () => call('process_logs', { name: 'web' }))
          .toMatchObject({ ok: true, output: 'up in /tmp\nwarned\n', truncated: false, status: 'running' })
        expect(await call('process_stop', { name: 'web' })).toEqual({ ok: true, name: 'web' })
        expect(await call('process_logs', { name: 'web' })).toMatchObject({ status: 'cancelled', output: 'up in /tmp\nwarned\n' })
        expect(await call('process_logs', { name: 'none' })).toEqual(failed('no process'))
        expect(await call('process_stop', { name: 'none' })).toEqual(failed('no process'))
      })
    })

    describe('read and write', () => {
      test('what is not text is refused with what to do instead', async () => {
        await sh("printf 'a\\0b' > data; printf '\\211PNG\\r\\n\\032\\n\\0\\0' > plot")
        expect(await call('read', { path: 'data' })).toEqual(failed('is not text'))
        expect(await call('read', { path: 'plot' })).toEqual(failed('image/png, 10 bytes'))
        expect(await call('read', { path: 'plot', encoding: 'base64' })).toMatchObject({ ok: true, length: 10 })
      })

      test('text in lines, in parts', async () => {
        expect(await call('write', { path: '/workspace/notes/a.txt', content: 'één\ntwo\nthree\n' })).toEqual({
          ok: true,
          path: '/workspace/notes/a.txt',
        })
        expect(await call('read', { path: 'notes/a.txt' })).toEqual({
          ...{ ok: true, content: 'één\ntwo\nthree', truncated: false, truncated_by: null, start_line: 1, end_line: 3 },
          ...{ next_offset: null, max_lines: 2_000, max_bytes: 51_200 },
        })
        const part = await call('read', { path: 'notes/a.txt', offset: 2, limit: 1 })
        expect(part).toMatchObject({ content: 'two', truncated: true, truncated_by: 'lines', start_line: 2, end_line: 2, next_offset: 3 })
        expect(await call('read', { path: 'notes/a.txt', max_bytes: 9 })).toMatchObject({
          content: 'één',
          truncated_by: 'bytes',
          next_offset: 2,
        })
        expect(await call('read', { path: 'notes/a.txt', offset: 9 })).toMatchObject({ content: '', truncated: false, end_line: 8 })
        await call('write', { path: 'notes/a.txt', content: 'four\n', mode: 'append' })
        expect(await sh('cat notes/a.txt')).toBe('één\ntwo\nthree\nfour\n')
      })

      test('a line that does not fit says so, and what comes after it can be read', async () => {
        await sh('head -c 60000 /dev/zero | tr "\\0" x > long; printf "\\nnext\\n" >> long')
        const first = await call('read', { path: 'long' })
        expect(first).toMatchObject({
          truncated_by: 'bytes',
          next_offset: 2,
          content: expect.stringContaining('line 1 is longer') as string,
        })
        expect(await call('read', { path: 'long', offset: 2 })).toMatchObject({ content: 'next', truncated: false })
      })

      test('bytes in base64, there and back', async () => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
        await call('write', { path: 'bin', content: bytes.toString('base64'), encoding: 'base64' })
        const first = await call('read', { path: 'bin', encoding: 'base64', max_bytes: 200 })
        expect(first).toMatchObject({ length: 200, size_bytes: 256, has_more: true, next_byte_offset: 200, byte_offset: 0 })
        const second = await call('read', { path: 'bin', encoding: 'base64', byte_offset: 200 })
        expect(second).toMatchObject({ length: 56, has_more: false, next_byte_offset: null })
        const both = Buffer.concat([first, second].map(({ content }) => Buffer.from(String(content), 'base64')))
        expect(both.equals(bytes)).toBe(true)
        expect(await call('write', { path: 'bin', content: 'not base64!', encoding: 'base64' })).toEqual(failed('content: '))
        expect(await sh('stat -c %s bin')).toBe('256\n')
      })

      test('a directory gives its names', async () => {
        await sh('mkdir -p names/sub; touch names/b names/a')
        expect(await call('read', { path: 'names' })).toEqual({
          ...{ ok: true, content: 'a\nb\nsub', is_directory: true, total: 3, truncated: false, truncated_by: null },
        })
        expect(await call('read', { path: 'names', max_bytes: 4 })).toMatchObject({ content: 'a\nb', total: 3, truncated_by: 'bytes' })
      })

      test('what is not there, or not for the sandbox, is told; nothing leads to the host', async () => {
        expect(await call('read', { path: 'nothing' })).toEqual(failed('ENOENT'))
        expect(await call('write', { path: '/usr/x', content: '' })).toEqual(failed(/EROFS|EACCES/))
        const outside = real.server.keyFile ?? ''
        expect(readFileSync(outside, 'utf8')).not.toBe('')
        await sh(`ln -sfn ${outside} way-out`)
        for (const path of [outside, `${'../'.repeat(20)}${outside.slice(1)}`, 'way-out'])
          expect(await call('read', { path })).toEqual(failed('ENOENT'))
      })
    })

    describe('edit', () => {
      test('replaces one passage at once, and keeps the mode and everything else', async () => {
        await sh('printf "\\377one two one" > code; chmod 751 code; ln -sfn code link; ls -i code > before')
        expect(await call('edit', { path: 'link', old_string: 'two', new_string: 'zwei' })).toEqual({ ok: true, path: 'link' })
        expect(await sh('od -An -c code | tr -d " "; stat -c %a code; test -L link && echo link')).toBe('377onezweione\n751\nlink\n')
        expect(await sh('ls -i code | cmp -s - before || echo another file')).toBe('another file\n')
        expect(await call('edit', { path: 'code', old_string: 'one', new_string: 'x' })).toEqual(failed('2 places'))
        expect(await call('edit', { path: 'code', old_string: 'gone', new_string: 'x' })).toEqual(failed('not in the file'))
        expect(await call('edit', { path: 'nothing', old_string: 'a', new_string: 'b' })).toEqual(failed('ENOENT'))
        expect(await sh('ls -A . | grep -c holdfast || true')).toBe('0\n')
      })

      test('two at once both count', async () => {
        await sh('for i in $(seq 10 29); do echo "line $i"; done > many')
        await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            call('edit', { path: 'many', old_string: `line ${index + 10}\n`, new_string: `done ${index + 10}\n` }),
          ),
        )
        expect(await sh('grep -c ^done many')).toBe('20\n')
      })

      test('what is too large is refused before and after', async () => {
        await sh('head -c 1048577 /dev/zero > large')
        expect(await call('edit', { path: 'large', old_string: 'a', new_string: 'b' })).toEqual(failed('1048576'))
        await sh('head -c 1048575 /dev/zero | tr "\\0" x > full; printf y >> full')
        expect(await call('edit', { path: 'full', old_string: 'y', new_string: 'yy' })).toEqual(failed('more than 1048576 bytes'))
        expect(await call('edit', { path: 'full', old_string: 'y', new_string: 'z' })).toEqual({ ok: true, path: 'full' })
      })
    })

    describe('glob and grep', () => {
      beforeAll(async () => {
        await sh(
          [
            'mkdir -p tree/src/deep tree/node_modules/x tree/.git',
            'echo "def find_me(): pass  # TODO" > tree/src/a.py; echo "nothing" > tree/src/deep/b.py; echo "find_me()" > tree/c.txt',
            'echo find_me > tree/node_modules/x/d.py; echo find_me > tree/.git/e.py; printf "find_me\\0" > tree/binary.py',
            'touch -d "2020-01-01" tree/src/a.py; touch -d "2021-01-01" tree/src/deep/b.py; touch -d "2019-01-01" tree/binary.py',
          ].join('\n'),
        )
      })

      test('the newest come first, at any depth, without what others made', async () => {
        const matches = ['/workspace/tree/src/deep/b.py', '/workspace/tree/src/a.py', '/workspace/tree/binary.py']
        expect(await call('glob', { pattern: '*.py', path: 'tree' })).toEqual({
          ...{ ok: true, matches, total: 3, truncated: false, truncated_by: null },
        })
        expect(await call('glob', { pattern: 'src/**/*.py', path: '/workspace/tree' })).toMatchObject({ total: 2 })
        expect(await call('glob', { pattern: '/workspace/tree/*.txt', path: '/workspace/tree' })).toMatchObject({
          matches: ['/workspace/tree/c.txt'],
        })
        expect(await call('glob', { pattern: '*', path: 'nowhere' })).toEqual(failed('ENOENT'))
      })

      test('more than a hundred matches are counted, and the newest shown', async () => {
        await sh('mkdir -p many-files; cd many-files; for i in $(seq 1 130); do echo > f$i; done; touch -d 2035-01-01 f7')
        const found = await call('glob', { pattern: 'f*', path: 'many-files' })
        expect(found).toMatchObject({ total: 130, truncated: true, truncated_by: 'matches' })
        expect(found['matches']).toHaveLength(100)
        expect((found['matches'] as string[])[0]).toBe('/workspace/many-files/f7')
      })

      test('long names are cut off at 50 KiB', async () => {
        await sh('mkdir -p "wide/$(printf "%0240d/%0240d/%0240d" 1 2 3)"; cd wide/*/*/*; for i in $(seq 1 90); do echo > f$i; done')
        const found = await call('glob', { pattern: 'f*', path: 'wide' })
        expect(found).toMatchObject({ total: 90, truncated: true, truncated_by: 'bytes' })
        expect(Buffer.byteLength((found['matches'] as string[]).join('\n'))).toBeLessThanOrEqual(51_200)
      })

      test('lines come with their file and number', async () => {
        expect(await call('grep', { pattern: String.raw`find_\w+\(`, path: 'tree' })).toEqual({
          ok: true,
          matches: [
            { file: '/workspace/tree/c.txt', line: 1, content: 'find_me()' },
            { file: '/workspace/tree/src/a.py', line: 1, content: 'def find_me(): pass  # TODO' },
          ],
          ...{ total: 2, truncated: false, truncated_by: null },
        })
        expect(await call('grep', { pattern: '(?i)todo', path: 'tree', include: '*.py' })).toMatchObject({ total: 1 })
        expect(await call('grep', { pattern: 'find_me', path: 'tree', include: 'src/*.py' })).toMatchObject({ total: 1 })
        expect(await call('grep', { pattern: 'find_me', path: 'tree/c.txt' })).toMatchObject({ total: 1 })
        expect(await call('grep', { pattern: '(', path: 'tree' })).toEqual(failed('not valid'))
        expect(await call('grep', { pattern: '(?=x)', path: 'tree' })).toEqual(failed(/^pattern: /))
        expect(await call('grep', { pattern: 'x', path: 'nowhere' })).toEqual(failed('ENOENT'))
      })

      test('what is long is cut: lines at 500 characters, matches at 200', async () => {
        await sh(`mkdir -p cut; printf 'é%.0s' $(seq 1 700) > cut/line; seq 1 300 > cut/lines`)
        const line = await call('grep', { pattern: 'é', path: 'cut/line' })
        expect(line).toMatchObject({ matches: [{ content: 'é'.repeat(500) }], truncated: true, truncated_by: 'line' })
        expect(await call('grep', { pattern: '[0-9]', path: 'cut/lines' })).toMatchObject({
          total: 200,
          truncated: true,
          truncated_by: 'matches',
        })
      })

      test.each(['(a+)+$', '(a|aa)+$', '(.*)*x', '(a*)*b$', '((((a{1,255}){1,255}){1,255}){1,255}){1,255}'])(
        'a pattern made to take for ever (%s) is answered',
        async (pattern) => {
          await sh('mkdir -p slow; head -c 1000000 /dev/zero | tr "\\0" a > slow/a; printf "!\\n" >> slow/a')
          const found = await call('grep', { pattern, path: 'slow' })
          expect(found['ok'] === false || found['truncated_by'] === 'time' || found['total'] === 0).toBe(true)
        },
      )

      test('a tree larger than is looked at says so', async () => {
        await sh('mkdir -p files; cd files; yes | head -n 5100 | split -l 1 -a 4')
        expect(await call('grep', { pattern: 'none', path: 'files' })).toMatchObject({ total: 0, truncated: true, truncated_by: 'scan' })
        await sh('rm -rf files; yes "a line of some length, as lines of a log have it" | head -c 11000000 > log')
        expect(await call('grep', { pattern: 'none', path: 'log' })).toMatchObject({ total: 0, truncated: true, truncated_by: 'scan' })
      })
    })

    describe('skills', () => {
      const SKILL = '---\nname: greeter\ndescription: Greets people\n---\n\nRun greet.sh.\n'

      test('a directory of the workspace becomes a skill, for those who may', async () => {
        await call('write', { path: 'made/SKILL.md', content: SKILL })
        await call('write', { path: 'made/bin/greet.sh', content: 'echo hello from "$(pwd)"\n' })
        await sh('chmod 755 made/bin/greet.sh; mkdir made/__pycache__; touch made/__pycache__/x.pyc made/empty')
        expect((await ask('register_skill', { session_id: session, input: { path: 'made' } }, ada)).status).toBe(403)
        expect(await call('register_skill', { path: '/workspace/made' }, operator)).toEqual({
          ...{ ok: true, skill_name: 'greeter', display_name: 'greeter', description: 'Greets people', python_project: false },
        })
        const store = real.server.plane.skills.forTenant(real.admin.tenantId)
        expect((await store.files('greeter', '')).entries.map(({ name }) => name)).toEqual(['bin', 'empty', 'SKILL.md'].toSorted())
        expect(await call('register_skill', { path: 'made' }, operator)).toEqual(failed('already'))
        await sh('ln -s /etc made/link')
        expect(await call('register_skill', { path: 'made', name: 'other' }, operator)).toEqual(failed('link is a symlink'))
        expect(await call('register_skill', { path: 'names' }, operator)).toEqual(failed('SKILL.md'))
        expect(await call('register_skill', { path: 'nowhere' }, operator)).toEqual(failed('ENOENT'))
      })

      test('what was registered, and what was refused, is in the audit by name and session, without its content', async () => {
        const audit = await (await real.request('/v1/audit?page_size=200')).text()
        const { items } = JSON.parse(audit) as { items: { resource: { id: string } }[] }
        const by = { actor: { subject: 'ada' }, session_id: session, request_id: expect.stringMatching(/^req_/) as string }
        const resource = { type: 'skill', id: 'greeter' }
        expect(items.filter(({ resource: { id } }) => id === 'greeter').toReversed()).toMatchObject([
          { action: 'skill.adopt', outcome: 'success', resource, ...by },
          { action: 'skill.adopt', outcome: 'failure', error_code: 'name_taken', resource, ...by },
        ])
        expect(audit).not.toContain('greet.sh')
      })

      test('it is used once it is activated, in the sandbox that runs', async () => {
        const before = await call('exec', { command: 'sh bin/greet.sh', workdir: '/workspace/.skills/greeter' })
        expect(before).toEqual(failed("'greeter' is not activated"))
        expect(await call('activate', { skill_name: 'greeter' })).toEqual({
          ...{ ok: true, skill_name: 'greeter', display_name: 'greeter', description: 'Greets people' },
          ...{ instructions: expect.stringContaining('Run greet.sh.') as string, path: '/workspace/.skills/greeter' },
        })
        const ran = await call('exec', { command: './bin/greet.sh || sh bin/greet.sh', workdir: '/workspace/.skills/greeter' })
        expect(ran).toMatchObject({ ok: true, stdout: 'hello from /workspace/.skills/greeter\n' })
        expect(ran).not.toHaveProperty('notice')
        expect(await call('read', { path: '/workspace/.skills/greeter/SKILL.md' })).toMatchObject({ ok: true })
        expect(await call('activate', { skill_name: 'unknown' })).toEqual(failed("no skill 'unknown' here; there are greeter"))
      })

      test('a second one is shown beside the first, and one command uses one', async () => {
        const store = real.server.plane.skills.forTenant(real.admin.tenantId)
        await store.create({ name: 'second', instructions: 'Do it twice.' })
        expect(await call('activate', { skill_name: 'second' })).toMatchObject({ ok: true, instructions: 'Do it twice.' })
        expect(await sh('ls /workspace/.skills')).toBe('greeter\nsecond\n')
        expect(await call('exec', { command: 'cat /workspace/.skills/greeter/SKILL.md /workspace/.skills/second/SKILL.md' })).toEqual(
          failed('one command can use one skill'),
        )
      })

      test('a Python project is run in its environment', async () => {
        await call('write', { path: 'py/SKILL.md', content: '---\nname: snake\n---\nUse python.\n' })
        await call('write', { path: 'py/requirements.txt', content: '' })
        await call('write', { path: 'py/which.py', content: 'import sys\nprint(sys.prefix)\n' })
        expect(await call('register_skill', { path: 'py' }, operator)).toMatchObject({ ok: true, python_project: true })
        await call('activate', { skill_name: 'snake' })
        const ran = await call('exec', { command: 'python which.py', workdir: '/workspace/.skills/snake', timeout_sec: 120 })
        // Where the sandbox has no Python with venv, the bootstrap says so; the command was wrapped either way.
        expect(`${String(ran['stdout'])}${String(ran['stderr'])}`).toMatch(
          /\/workspace\/\.skill-envs\/snake|Python environment of this skill/,
        )
      })
    })

    test('a session that shares its sandbox works in its own workspace, and has no skills', async () => {
      const tenant = await real.tenantWith({ packing: { profiles: ['small'] } })
      const eve = await real.keyOf({ subject: 'eve' }, tenant)
      const packed = await real.session('packed', { pack: 'small' }, eve)
      expect(await call('write', { path: '/workspace/mine', content: 'x' }, eve, packed)).toMatchObject({ ok: true })
      const ran = await call('exec', { command: 'pwd; cat mine' }, eve, packed)
      expect(ran).toMatchObject({ ok: true, stdout: `/sessions/${packed}/workspace\nx` })
      expect(await call('glob', { pattern: 'mine' }, eve, packed)).toMatchObject({ matches: [`/sessions/${packed}/workspace/mine`] })
      expect(await call('activate', { skill_name: 'greeter' }, eve, packed)).toEqual(failed('sandbox of their own'))
    })
  })
