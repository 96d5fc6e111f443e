/**
 * The seeds of both fuzzers, `guest/corpus/*.bin`: each frame once, frames cut into pieces, and frames that break a rule.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * `node packages/server/src/guest/corpus.ts` writes the files; a test holds them to what stands here. A name tells what the
 * seed is: `to-guest-*` and `to-server-*` are sound in that direction, `malformed-*` in neither.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeControl, encodeDataHeader, FrameType, MAX_CONTROL_TO_GUEST_BYTES, MAX_DATA_BYTES } from './codec.ts'
import { Tag } from './fields.ts'

export const CORPUS_DIRECTORY = join(import.meta.dirname, '../../../../guest/corpus')

function data(stream: number, channel: number, text: string): Buffer {
  return Buffer.concat([encodeDataHeader(stream, channel, text.length), Buffer.from(text, 'latin1')])
}

/** A frame with some bytes overwritten. */
function spoiled(frame: Buffer, at: number, ...bytes: readonly number[]): Buffer {
  const copy = Buffer.from(frame)
  copy.set(bytes, at)
  return copy
}

function header(length: number, type: number, channel: number, stream: number): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32LE(length, 0)
  bytes.writeUInt8(type, 4)
  bytes.writeUInt8(channel, 5)
  bytes.writeUInt32LE(stream, 8)
  return bytes
}

const hello = encodeControl(FrameType.HELLO, 0, [
  [Tag.VERSION, 1],
  [Tag.BOOT, Buffer.alloc(16, 7)],
])
const started = encodeControl(FrameType.STARTED, 1, [
  [Tag.ID, 1n],
  [Tag.PID, 42],
  [Tag.SEQ, 0],
  [Tag.SKIPPED, 0],
])
const exit = encodeControl(FrameType.EXIT, 1, [
  [Tag.STATUS, 0],
  [Tag.CODE, 0],
  [Tag.FLAGS, 0],
  [Tag.SEQ, 6],
  [Tag.SURVIVORS, 0],
  [Tag.USEC, 1_500],
])
const end = encodeControl(FrameType.END, 1, [[Tag.ERRNO, 0]])
const exec = encodeControl(FrameType.EXEC, 1, [
  [Tag.ARGV, 'sh'],
  [Tag.ARGV, '-c'],
  [Tag.ARGV, 'true'],
  [Tag.ENV, 'PATH=/usr/bin:/bin'],
  [Tag.CWD, '/'],
  [Tag.WINDOW, 524_288],
])
const kill = encodeControl(FrameType.KILL, 3, [
  [Tag.ID, 1n],
  [Tag.GRACE_MS, 100],
])

export const CORPUS: Readonly<Record<string, Buffer>> = {
  'to-server-hello': hello,
  'to-server-started': started,
  'to-server-data-stdout': data(1, 1, 'hello\n'),
  'to-server-data-stderr': data(1, 2, 'hello\n'),
  'to-server-data-invalid-utf8': data(1, 1, '\xff\xfe\x80'),
  'to-server-eof': encodeControl(FrameType.EOF, 1, [], 1),
  'to-server-credit': encodeControl(FrameType.CREDIT, 1, [[Tag.COUNT, 65_536]]),
  'to-server-exit': exit,
  'to-server-exit-signal': encodeControl(FrameType.EXIT, 1, [
    [Tag.STATUS, 1],
    [Tag.CODE, 9],
    [Tag.FLAGS, 1],
    [Tag.SEQ, 0],
    [Tag.SURVIVORS, 1],
    [Tag.USEC, 1],
  ]),
  'to-server-end': end,
  'to-server-end-errno': encodeControl(FrameType.END, 1, [
    [Tag.ERRNO, 2],
    [Tag.MESSAGE, 'cannot run the program'],
  ]),
  'to-server-reply-kill': encodeControl(FrameType.REPLY, 3, [
    [Tag.KILLED, 3],
    [Tag.VERIFIED, 1],
  ]),
  'to-server-reply-list': encodeControl(FrameType.REPLY, 4, [
    [Tag.ID, 1n],
    [Tag.TAG, 'build'],
    [Tag.PID, 42],
    [Tag.STATE, 0],
    [Tag.SEQ, 6],
    [Tag.USEC, 1_500],
    [Tag.UID, 1_000],
    [Tag.NAME, 'sh'],
  ]),
  'to-server-pong': encodeControl(FrameType.PONG, 0, [[Tag.TOKEN, 1]]),
  'to-server-command': Buffer.concat([hello, started, data(1, 1, 'hello\n'), exit, end]),
  'to-guest-exec': exec,
  'to-guest-exec-everything': encodeControl(FrameType.EXEC, 1, [
    [Tag.ARGV, 'cat'],
    [Tag.CWD, '/workspace'],
    [Tag.UID, 1_000],
    [Tag.GID, 1_000],
    [Tag.TAG, 'build'],
    [Tag.STDIN, 1],
    [Tag.TIMEOUT_MS, 1_000],
    [Tag.GRACE_MS, 10],
    [Tag.RLIMIT, Buffer.from('0700000040000000000000004000000000000000', 'hex')],
    [Tag.EPHEMERAL, 1],
  ]),
  'to-guest-exec-applet': encodeControl(FrameType.EXEC, 1, [
    [Tag.ARGV, 'stat'],
    [Tag.ARGV, '/'],
    [Tag.ARGV, ''],
    [Tag.SELF, 1],
    [Tag.EPHEMERAL, 1],
  ]),
  'to-guest-exec-pty': encodeControl(FrameType.EXEC, 1, [
    [Tag.ARGV, 'sh'],
    [Tag.USER, 'user'],
    [Tag.PTY, Buffer.from([80, 0, 24, 0])],
  ]),
  'to-guest-attach-id': encodeControl(FrameType.ATTACH, 2, [
    [Tag.ID, 1n],
    [Tag.AFTER, 100],
    [Tag.WINDOW, 65_536],
  ]),
  'to-guest-attach-tag': encodeControl(FrameType.ATTACH, 2, [[Tag.TAG, 'build']]),
  'to-guest-connect': encodeControl(FrameType.CONNECT, 2, [
    [Tag.PORT, 8_080],
    [Tag.WINDOW, 65_536],
  ]),
  'to-guest-data': data(1, 0, 'hello\n'),
  'to-guest-eof': encodeControl(FrameType.EOF, 1),
  'to-guest-ack': encodeControl(FrameType.ACK, 1, [[Tag.SEQ, 6]]),
  'to-guest-close': encodeControl(FrameType.CLOSE, 1),
  'to-guest-signal': encodeControl(FrameType.SIGNAL, 3, [
    [Tag.TAG, 'build'],
    [Tag.SIGNO, 15],
    [Tag.TREE, 1],
  ]),
  'to-guest-kill': kill,
  'to-guest-kill-user': encodeControl(FrameType.KILL, 3, [
    [Tag.UID, 2_100_000_000],
    [Tag.GRACE_MS, 100],
  ]),
  'to-guest-resize': encodeControl(FrameType.RESIZE, 3, [
    [Tag.ID, 1n],
    [Tag.COLS, 120],
    [Tag.ROWS, 40],
  ]),
  'to-guest-list': encodeControl(FrameType.LIST, 4),
  'to-guest-forget': encodeControl(FrameType.FORGET, 0, [
    [Tag.ID, 1n],
    [Tag.ID, 2n],
  ]),
  'to-guest-ping': encodeControl(FrameType.PING, 0, [[Tag.TOKEN, 1]]),
  'to-guest-shutdown': encodeControl(FrameType.SHUTDOWN, 0),
  'to-guest-command': Buffer.concat([exec, data(1, 0, 'hello\n'), encodeControl(FrameType.EOF, 1), kill]),
  'fragment-empty': Buffer.alloc(0),
  'fragment-one-byte': hello.subarray(0, 1),
  'fragment-half-header': hello.subarray(0, 7),
  'fragment-header-only': exec.subarray(0, 12),
  'fragment-half-payload': exec.subarray(0, 30),
  'malformed-type-zero': header(0, 0, 0, 1),
  'malformed-type-unknown': header(0, 22, 0, 1),
  'malformed-type-255': header(0, 255, 0, 1),
  'malformed-reserved': spoiled(end, 6, 1),
  'malformed-data-oversized': header(MAX_DATA_BYTES + 1, FrameType.DATA, 1, 1),
  'malformed-control-oversized': header(MAX_CONTROL_TO_GUEST_BYTES + 1, FrameType.END, 0, 1),
  'malformed-length-maximum': header(0xffff_ffff, FrameType.EXEC, 0, 1),
  'malformed-data-channel': spoiled(data(1, 1, 'x'), 5, 3),
  'malformed-control-channel': spoiled(end, 5, 1),
  'malformed-field-cut-off': Buffer.concat([header(3, FrameType.END, 0, 1), Buffer.from([17, 4, 0])]),
  'malformed-field-too-long': spoiled(end, 13, 200),
  'malformed-field-length-maximum': spoiled(end, 13, 0xff, 0xff, 0xff, 0xff),
  'malformed-field-width': encodeControl(FrameType.END, 1, [[Tag.ERRNO, Buffer.from([1, 2])]]),
}

export function writeCorpus(): void {
  mkdirSync(CORPUS_DIRECTORY, { recursive: true })
  for (const [name, bytes] of Object.entries(CORPUS)) writeFileSync(join(CORPUS_DIRECTORY, `${name}.bin`), bytes)
}

if (import.meta.main) writeCorpus()
