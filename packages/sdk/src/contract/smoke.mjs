/**
 * What every runtime has to be able to do, as one program: its name is the only thing that differs in what it prints.
 */
import { Holdfast, isHoldfastError } from '@holdfast/sdk'

const holdfast = new Holdfast()
// Not `await using`: Node 20 does not know it.
const session = await holdfast.sessions.getOrCreate({ key: `smoke-${crypto.randomUUID()}`, release: 'on-dispose' })

const plain = await session.commands.run('echo plain; exit 3')
console.log(plain.stdout.trim(), plain.exitCode)

let heard = ''
const watched = await session.commands.run('for i in 1 2 3; do echo é$i; sleep 0.05; done', { onStdout: (text) => void (heard += text) })
console.log(JSON.stringify(heard), watched.stdout === heard)

const bytes = new Uint8Array(3_000_000).map((_, index) => index % 256)
await session.files.write('bytes', new Blob([bytes]).stream())
const back = await session.files.read('bytes')
console.log(
  back.length,
  back.every((byte, index) => byte === index % 256),
)
console.log((await session.commands.run('wc -c', { stdin: new Blob([bytes.subarray(0, 600_000)]).stream() })).stdout.trim())

const watching = await session.files.watch('/workspace')
await session.files.write('note', 'x')
for await (const { type, path } of watching) {
  if (path !== '/workspace/note') continue
  console.log(type)
  break
}

for await (const { type } of session.events()) {
  if (type !== 'execution.ended') continue
  console.log(type)
  break
}

const missing = await holdfast.sessions.get('ses_unknown').catch((error) => error)
console.log(isHoldfastError(missing, 'not_found'))
const leaving = new AbortController()
const endless = session.commands.run('sleep 60', { signal: leaving.signal }).catch((error) => error.message)
setTimeout(() => leaving.abort(new Error('enough')), 100)
console.log(await endless)
const nowhere = await new Holdfast({ url: 'http://127.0.0.1:9', timeoutMs: 3000 }).health().catch((error) => error)
console.log(isHoldfastError(nowhere, 'server_unreachable', 'request_timed_out'))

if (typeof WebSocket === 'undefined') console.log('no WebSocket')
else {
  let screen = ''
  const decoder = new TextDecoder()
  const terminal = await session.pty.create({
    cols: 77,
    rows: 33,
    command: 'sh',
    onData: (piece) => void (screen += decoder.decode(piece)),
  })
  await terminal.write('stty size; exit 4\n')
  console.log((await terminal.wait())?.exitCode, screen.includes('33 77'))
}
await session[Symbol.asyncDispose]()
