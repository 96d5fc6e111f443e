/** Files of a real sandbox: any bytes, any size, streams both ways, changes as they happen. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCuttingProxy } from './contract/cutting-proxy.ts'
import { isSkipped, startServerForTests, why } from './contract/running-server.ts'
import type { ServerForTests } from './contract/running-server.ts'
import type { Session } from './index.ts'

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Bytes of every value, the same for the same size. */
function noise(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let state = 1
  for (let index = 0; index < size; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0
    bytes[index] = state >>> 16
  }
  return bytes
}

describe.skipIf(isSkipped)(`files${why}`, () => {
  let running: ServerForTests
  let session: Session
  beforeAll(async () => {
    running = await startServerForTests()
    session = await running.client().sessions.getOrCreate({ key: 'files', waitMs: 10_000 })
  })
  afterAll(() => running.close())

  test('text, bytes, blobs and streams are written as they are and read back', async () => {
    const { files } = session
    const bytes = noise(300_000)
    expect(await files.write('a/b/text.txt', 'héllo\n')).toMatchObject({
      path: '/workspace/a/b/text.txt',
      type: 'file',
      size: 7,
      mode: '0644',
    })
    expect(await files.readText('/workspace/a/b/text.txt')).toBe('héllo\n')
    await files.write('bytes', bytes.subarray(5))
    expect(sha(await files.read('bytes'))).toBe(sha(bytes.subarray(5)))
    await files.write('blob', new Blob(['x', 'y']))
    expect(await files.readText('blob')).toBe('xy')
    await files.write('stream', new Blob([bytes]).stream(), { mode: '0600' })
    expect(sha(await files.read('stream'))).toBe(sha(bytes))
    expect((await session.commands.run('sha256sum < stream; stat -c %a stream')).stdout).toBe(`${sha(bytes)}  -\n600\n`)
    await files.write('empty', '')
    expect(await files.read('empty')).toHaveLength(0)
  })

  test('a part of a file can be read, and one can be added to', async () => {
    const { files } = session
    await files.write('part', '0123456789')
    expect(await files.readText('part', { start: 3, end: 6 })).toBe('345')
    expect(await files.readText('part', { start: 8 })).toBe('89')
    await files.write('part', 'ab', { append: true })
    expect(await files.readText('part', { start: 9 })).toBe('9ab')
    await expect(files.read('part', { start: 100 })).rejects.toMatchObject({ code: 'range_not_satisfiable' })
  })

  test('what is not there, must not be there, or may not be is told by its code', async () => {
    const { files } = session
    await expect(files.read('missing')).rejects.toMatchObject({ code: 'file_not_found', status: 404 })
    await files.write('there', '1')
    await expect(files.write('there', '2', { exclusive: true })).rejects.toMatchObject({ code: 'file_exists' })
    await expect(files.write('no/such/place', '1', { parents: false })).rejects.toMatchObject({ code: 'file_not_found' })
    expect(await files.readText('there')).toBe('1')
  })

  test('directories are made, listed, moved and removed', async () => {
    const { files } = session
    await files.makeDirectory('tree/inner', { parents: true })
    await files.write('tree/inner/one', '1')
    await files.write('tree/two', '22')
    const list = await files.list('tree', { depth: 2 })
    expect(list.items.map(({ path, type, size }) => (type === 'file' ? `${path} ${size}` : `${path} ${type}`)).toSorted()).toEqual([
      '/workspace/tree/inner directory',
      '/workspace/tree/inner/one 1',
      '/workspace/tree/two 2',
    ])
    expect(await files.list('tree', { depth: 2, limit: 1 })).toMatchObject({ truncated: true })
    expect(await files.move('tree/two', 'tree/deep/three', { parents: true })).toMatchObject({ path: '/workspace/tree/deep/three' })
    await expect(files.remove('tree')).rejects.toMatchObject({ code: 'file_operation_failed' })
    await files.remove('tree', { recursive: true })
    await expect(files.stat('tree')).rejects.toMatchObject({ code: 'file_not_found' })
    expect(await files.exists('tree')).toBe(false)
  })

  test('a directory goes out as an archive and comes back as it was', async () => {
    const { files, commands } = session
    await commands.run('mkdir -p pack/sub && echo one > pack/sub/one && ln -s sub/one pack/link && chmod 750 pack/sub')
    const archive = new Uint8Array(await new Response(await files.download('pack')).arrayBuffer())
    expect(await files.upload('unpacked', archive)).toMatchObject({ path: '/workspace/unpacked', type: 'directory' })
    const { stdout } = await commands.run(
      'cd unpacked && find . -name one -o -name link | sort; cat $(find . -name link); stat -c %a $(find . -name sub)',
    )
    expect(stdout).toMatch(/link\n.*one\none\n750\n$/s)
  })

  test('every change after `watch` has resolved is told', async () => {
    const { files, commands } = session
    await files.makeDirectory('watched')
    const watching = await files.watch('watched')
    await commands.run('echo 1 > watched/new && rm watched/new')
    const seen: string[] = []
    for await (const { type, path } of watching) {
      seen.push(`${type} ${path}`)
      if (type === 'remove') break
    }
    expect(seen[0]).toBe('create /workspace/watched/new')
    expect(seen).toContain('write /workspace/watched/new')
  })

  test('a large file arrives whole over connections that break, and one that changed is no mixture', async () => {
    const bytes = noise(5_000_000)
    await session.files.write('large', bytes)
    const proxy = await startCuttingProxy(running.server.url)
    const far = await running.client({ url: proxy.url }).sessions.get(session.id)
    proxy.cutAfter(() => 1_100_000)
    proxy.cutAll()
    expect(sha(await far.files.read('large'))).toBe(sha(bytes))
    expect(proxy.cuts).toBeGreaterThanOrEqual(4)
    const reader = (await far.files.readStream('large')).getReader()
    await reader.read()
    await session.files.write('large', noise(5_000_001))
    const rest = (async () => {
      for (let read = await reader.read(); !read.done;) read = await reader.read()
    })()
    await expect(rest).rejects.toMatchObject({ code: 'file_changed' })
    await proxy.close()
  })

  test('a link gives a file to somebody without a key, with the type of its name', async () => {
    await session.files.write('plot.png', 'picture')
    const { url, path, expiresAt } = await session.files.link('plot.png', { ttlSeconds: 60 })
    expect([path, Date.parse(expiresAt) > Date.now()]).toEqual(['plot.png', true])
    const shown = await fetch(url)
    expect([shown.headers.get('content-type'), await shown.text()]).toEqual(['image/png', 'picture'])
  })

  test('a download that is left is let go of', async () => {
    await session.files.write('left', noise(20_000_000))
    const stream = await session.files.readStream('left')
    const reader = stream.getReader()
    await reader.read()
    await reader.cancel()
    const leaving = new AbortController()
    const other = await session.files.readStream('left', { signal: leaving.signal })
    leaving.abort(new Error('enough'))
    await expect(new Response(other).arrayBuffer()).rejects.toThrow('enough')
    expect((await session.commands.run('echo fine')).stdout).toBe('fine\n')
  })
})
