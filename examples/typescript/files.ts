/**
 * Files up and down: text, bytes as a stream, a part of a large file, a whole directory as an archive, and changes as they happen.
 *
 *     node examples/typescript/files.ts
 *
 * It prints:
 *
 *     /workspace/report/summary.txt, 15 bytes, mode 0644
 *     /workspace/report/data.bin, 10000000 bytes, mode 0640
 *     the same bytes on both sides: true
 *     its last four bytes: 7c 7d 7e 7f
 *     the copy holds: data.bin summary.txt
 *     created: /workspace/inbox/answer.txt
 *     there is no such file: file_not_found
 */
import { createHash } from 'node:crypto'
import { Holdfast, isHoldfastError } from '@holdfast/sdk'

const holdfast = new Holdfast()
await using session = await holdfast.sessions.getOrCreate({ key: 'files', release: 'on-dispose' })
const { files, commands } = session

await files.write('report/summary.txt', 'all is well: 42')
const bytes = Uint8Array.from({ length: 10_000_000 }, (_, index) => index % 128)
await files.write('report/data.bin', new Blob([bytes]).stream(), { mode: '0640' })
for (const name of ['summary.txt', 'data.bin']) {
  const { path, size, mode } = await files.stat(`report/${name}`)
  console.log(`${path}, ${size} bytes, mode ${mode}`)
}

const [inside] = (await commands.run('sha256sum report/data.bin')).stdout.split(' ')
const hash = createHash('sha256')
for await (const piece of await files.readStream('report/data.bin')) hash.update(piece)
console.log(`the same bytes on both sides: ${hash.digest('hex') === inside}`)

const tail = await files.read('report/data.bin', { start: bytes.length - 4 })
console.log(`its last four bytes: ${[...tail].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')}`)

// A tar stream, which could as well be written to a file here.
await files.upload('copy', await files.download('report'))
console.log(`the copy holds: ${(await commands.run('find copy -type f -exec basename {} \\; | sort | xargs')).stdout.trim()}`)

await files.makeDirectory('inbox')
const changes = await files.watch('inbox')
await commands.run('echo yes > inbox/answer.txt')
for await (const { type, path } of changes) {
  if (type !== 'create') continue
  console.log(`created: ${path}`)
  break
}

await files.readText('nothing').catch((error: unknown) => {
  if (!isHoldfastError(error, 'file_not_found')) throw error
  console.log(`there is no such file: ${error.code}`)
})
