/** Shorter ways to say what is said every day. */
import { createServer } from 'node:http'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { onBubblewrap } from './contract/on-bubblewrap.ts'

/** Answers with the path, and upgrades to an echo. */
const APP = `
import http.server, hashlib, base64
class App(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        if self.headers.get('upgrade'):
            self.send_response(101); self.send_header('Upgrade', 'websocket'); self.send_header('Connection', 'Upgrade'); self.end_headers()
            self.wfile.write(b'said ' + self.rfile.read(5)); self.close_connection = True
            return
        body = f"{self.path} of {self.headers['host']}".encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
http.server.ThreadingHTTPServer(('', 5173), App).serve_forever()
`

onBubblewrap('comfort', (stage) => {
  const here = mkdtempSync(join(tmpdir(), 'holdfast-comfort-'))
  afterAll(() => rmSync(here, { recursive: true, force: true }))
  const holdfast = (...args: readonly string[]) => stage().server.holdfast(args)

  test('flags stand before the verb, and the session before --', async () => {
    const { url } = stage().server
    expect(await holdfast('--url', url, 'exec', 'demo', '-e', 'A=5', '--', 'sh', '-c', 'echo $A')).toMatchObject({ code: 0, stdout: '5\n' })
    expect(await holdfast('exec', 'demo', '-c', 'echo $((6*7))')).toMatchObject({ code: 0, stdout: '42\n' })
    const unnamed = await holdfast('exec', 'ls', 'here')
    expect(unnamed).toMatchObject({ code: 125, stderr: expect.stringContaining('`holdfast exec -s <session> -- ls here`') })
  })

  test('exec prints one document on demand, with the command’s exit code', async () => {
    const { code, stdout } = await holdfast('exec', 'demo', '-o', 'json', '-c', 'echo out; echo err >&2; exit 3')
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ exit_code: 3, stdout: 'out\n', stderr: 'err\n', session: { key: 'demo' } })
  })

  test('logs shows the last lines', async () => {
    const started = await holdfast('exec', 'demo', '-d', '-c', 'seq 5; echo six >&2')
    const id = started.stdout.trim()
    await expect.poll(async () => (await holdfast('logs', 'demo', id)).stderr).toBe('six\n')
    expect(await holdfast('logs', '--tail', '3', 'demo', id)).toMatchObject({ code: 0, stdout: '4\n5\n', stderr: 'six\n' })
    const stamped = await holdfast('logs', '-t', 'demo', id)
    expect(stamped.stdout).toMatch(/^(\d{4}-\d\d-\d\dT[\d:.]+Z \d\n){5}$/)
    expect(await holdfast('logs', '-f', '-t', 'demo', id)).toMatchObject({ stdout: stamped.stdout, stderr: stamped.stderr })
  })

  test('logs begins with what was printed since a time', async () => {
    // Times are stored to a tenth of a second.
    const id = (await holdfast('exec', 'demo', '-d', '-c', 'echo early; sleep 0.5; echo late')).stdout.trim()
    await expect.poll(async () => (await holdfast('logs', 'demo', id)).stdout).toBe('early\nlate\n')
    const [, late = ''] = (await holdfast('logs', '-t', 'demo', id)).stdout.trim().split('\n')
    const [since = '', text] = late.split(' ')
    expect(text).toBe('late')
    for (const follow of [[], ['-f']])
      expect(await holdfast('logs', ...follow, '--since', since, 'demo', id)).toMatchObject({ code: 0, stdout: 'late\n' })
    expect(await holdfast('logs', '--since', '1h', 'demo', id)).toMatchObject({ code: 0, stdout: 'early\nlate\n' })
    expect(await holdfast('logs', '--since', '2999-01-01', 'demo', id)).toMatchObject({ code: 0, stdout: '' })
    expect(await holdfast('logs', '--since', 'yesterday', 'demo', id)).toMatchObject({ code: 2 })
  })

  test('cp takes several sources into a directory', async () => {
    for (const name of ['a', 'b']) writeFileSync(join(here, name), `${name}\n`)
    expect(await holdfast('cp', join(here, 'a'), join(here, 'b'), 'demo:data')).toMatchObject({ code: 0, stderr: '' })
    for (const name of ['a', 'b']) rmSync(join(here, name))
    expect(await holdfast('cp', 'demo:data/a', 'demo:data/b', here)).toMatchObject({ code: 0, stderr: '' })
    expect(['a', 'b'].map((name) => readFileSync(join(here, name), 'utf8'))).toEqual(['a\n', 'b\n'])
    expect(await holdfast('cp', join(here, 'a'), 'demo:data/b', here)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('all sources'),
    })
  })

  test('release ends every open session with a label, and no other', async () => {
    for (const key of ['one', 'two']) await holdfast('sessions', 'create', key, '--label', 'run=42')
    expect((await holdfast('sessions', 'release', '--label', 'run=42', '-q')).stdout.trim().split('\n')).toHaveLength(2)
    expect((await holdfast('sessions', 'ls', '--label', 'run=42', '-q')).stdout).toBe('')
    expect((await holdfast('sessions', 'ls', '--key', 'demo', '-q')).stdout).not.toBe('')
  })

  test('forward leads a port of this machine to an app inside, upgrades too', async () => {
    const { server } = stage()
    await server.holdfast(['exec', 'demo', '-d', '--name', 'web', '--', 'python3', '-u', '-c', APP])
    const forwarding = server.start(['forward', 'demo', '0:5173'])
    const ended = new Promise((resolve) => forwarding.once('close', resolve))
    const said = await new Promise<string>((resolve) => forwarding.stdout?.setEncoding('utf8').once('data', resolve))
    const url = said.trim()
    // The app listens a moment after it was started; the answer until then is the server's.
    await expect.poll(async () => (await fetch(`${url}/path?x=1`)).text()).toBe('/path?x=1 of localhost:5173')
    expect(await upgraded(url)).toBe('said hello')
    forwarding.kill('SIGTERM')
    await ended
    await expect(fetch(url)).rejects.toThrow('fetch failed')
    const preview = await holdfast('preview', 'demo', '5173')
    expect(preview.stderr).toContain('on the server’s machine only; `holdfast forward demo 5173`')
  })

  test('a port that is taken here is named', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    expect(await holdfast('forward', 'demo', `${port}:5173`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`127.0.0.1:${port}`),
    })
    taken.close()
  })
})

async function upgraded(url: string): Promise<string> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    const asking = request(url, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      },
    })
    asking.once('error', reject)
    asking.once('response', ({ statusCode }) => reject(new Error(`not upgraded: ${statusCode}`)))
    asking.once('upgrade', (_, socket, head) => {
      let said = head.toString()
      socket.on('data', (piece: Buffer) => (said += piece.toString()))
      socket.once('close', () => resolve(said))
      socket.write('hello')
    })
    asking.end()
  })
}
