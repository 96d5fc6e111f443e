/**
 * A Box server by script, as a child process: answers on stdout what it is asked on stdin. Its first argument is how it behaves.
 *
 * Written anew from the reference and not with the code under test, so that both ends cannot be wrong in the same way.
 */
import { createInterface } from 'node:readline'

const [behaviour = 'well'] = process.argv.slice(2)
// The other end may close it in the middle of a message.
process.stdout.on('error', () => process.exit(1))
if (behaviour === 'stubborn') process.on('SIGTERM', () => {})
if (behaviour === 'noisy') process.stdout.write('starting up\n{"not": "for you"}\n[1]\n\n')

/** @param {string} text */
function send(text) {
  const bytes = Buffer.from(text)
  if (bytes.length <= 16_384) return process.stdout.write(`${text}\n`)
  const lines = [`{"type":"chunk_start","total_size":${bytes.length}}`]
  let [offset, size] = [0, 0]
  let slice = ''
  const flush = () => {
    lines.push(JSON.stringify({ type: 'chunk_data', data: slice, offset }))
    offset += size
    ;[slice, size] = ['', 0]
  }
  for (const character of text) {
    const length = Buffer.byteLength(character)
    if (size + length > 16_384) flush()
    slice += character
    size += length
  }
  flush()
  if (behaviour === 'breaks') lines.splice(1, 1)
  process.stdout.write(`${[...lines, '{"type":"chunk_end"}'].join('\n')}\n`)
}

/** @param {{ seq_id: number, action: string, data: Record<string, unknown> }} frame */
function answer({ seq_id, action, data }) {
  if (action === 'box_shutdown') process.exit(3)
  if (action === 'box_health') return { seq_id, code: 0, message: 'success', data: { ...data, ...facts() }, chunk_status: 'continue' }
  if (action === 'box_init') return { seq_id, code: 0, message: 'success', data: { initialized: true, ...data }, chunk_status: 'continue' }
  return { seq_id, code: 0, message: 'success', data: {}, chunk_status: 'continue' }
}

function facts() {
  const { LANGBOT_BOX_TRUSTED_INSTANCE_UUID: instance, LANGBOT_BOX_CONTROL_TOKEN: token, MARK: mark } = process.env
  return {
    instance,
    token,
    mark,
    pid: process.pid,
    ...(behaviour === 'large' || behaviour === 'breaks' ? { text: '界"\\😀'.repeat(50_000) } : {}),
  }
}

/** @type {string[] | null} */
let pieces = null
for await (const line of createInterface({ input: process.stdin })) {
  if (Buffer.byteLength(line) >= 65_536) process.exit(9)
  const value = JSON.parse(line)
  if (value.type === 'chunk_start') pieces = []
  else if (value.type === 'chunk_data') pieces?.push(value.data)
  else if (value.type === 'chunk_end') {
    send(JSON.stringify(answer(JSON.parse(pieces?.join('') ?? ''))))
    pieces = null
  } else if (pieces !== null) process.exit(8)
  else send(JSON.stringify(answer(value)))
}
if (behaviour === 'stubborn') setInterval(() => {}, 1000)
