/** Proofs of the codec: any frame survives any chunking, and no bytes make the decoder throw anything else or hold too much. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isHoldfastError } from '@holdfast/protocol'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  encodeControl,
  encodeDataHeader,
  FrameDecoder,
  FrameType,
  HEADER_BYTES,
  MAX_CONTROL_TO_GUEST_BYTES,
  MAX_CONTROL_TO_SERVER_BYTES,
  MAX_DATA_BYTES,
} from './codec.ts'
import { CORPUS, CORPUS_DIRECTORY } from './corpus.ts'
import { Fields, Tag } from './fields.ts'
import type { Field } from './fields.ts'

interface Frame {
  readonly type: number
  readonly stream: number
  readonly channel: number
  readonly payload: Buffer
}

interface Decoded {
  readonly frames: readonly Frame[]
  readonly error: unknown
  readonly mostHeldBytes: number
}

/** DATA pieces of one stream and channel are joined, because chunking may cut them anywhere. */
function decode(chunks: readonly Buffer[], maxControlBytes = MAX_CONTROL_TO_SERVER_BYTES): Decoded {
  const frames: Frame[] = []
  let mostHeldBytes = 0
  const decoder = new FrameDecoder(
    {
      data(stream, channel, bytes) {
        const last = frames.at(-1)
        const joins = last?.type === FrameType.DATA && last.stream === stream && last.channel === channel
        if (joins) frames[frames.length - 1] = { ...last, payload: Buffer.concat([last.payload, bytes]) }
        else frames.push({ type: FrameType.DATA, stream, channel, payload: Buffer.from(bytes) })
      },
      control(type, stream, channel, payload) {
        void new Fields(payload)
        frames.push({ type, stream, channel, payload: Buffer.from(payload) })
      },
    },
    maxControlBytes,
  )
  try {
    for (const chunk of chunks) {
      decoder.push(chunk)
      mostHeldBytes = Math.max(mostHeldBytes, decoder.heldBytes)
    }
  } catch (error) {
    return { frames, error, mostHeldBytes }
  }
  return { frames, error: null, mostHeldBytes }
}

function cut(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const places = [0, ...cuts.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const byteString = fc.uint8Array({ maxLength: 3_000 }).map((bytes) => Buffer.from(bytes))
const field: fc.Arbitrary<Field> = fc.oneof(
  fc.tuple(fc.constant(Tag.ARGV), byteString),
  fc.tuple(fc.constant(Tag.MESSAGE), fc.string()),
  fc.tuple(fc.constant(Tag.PID), uint32),
  fc.tuple(fc.constant(Tag.STATUS), fc.integer({ min: 0, max: 255 })),
  fc.tuple(fc.constant(Tag.ID), fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn })),
)
const controlTypes = Object.values(FrameType).filter((type) => type !== FrameType.DATA && type !== FrameType.EOF)
const frame = fc.oneof(
  fc
    .record({ type: fc.constantFrom(...controlTypes), stream: uint32, fields: fc.array(field, { maxLength: 8 }) })
    .map(({ type, stream, fields }) => {
      const bytes = encodeControl(type, stream, fields)
      return { bytes, frame: { type, stream, channel: 0, payload: bytes.subarray(HEADER_BYTES) } }
    }),
  fc.record({ stream: uint32, channel: fc.integer({ min: 0, max: 2 }), payload: byteString }).map(({ stream, channel, payload }) => ({
    bytes: Buffer.concat([encodeDataHeader(stream, channel, payload.length), payload]),
    frame: { type: FrameType.DATA, stream, channel, payload },
  })),
)

/** What `decode` gives back for these frames. */
function joined(frames: readonly Frame[]): readonly Frame[] {
  const result: Frame[] = []
  for (const next of frames) {
    const last = result.at(-1)
    const joins =
      next.type === FrameType.DATA && last?.type === FrameType.DATA && last.stream === next.stream && last.channel === next.channel
    if (joins) result[result.length - 1] = { ...last, payload: Buffer.concat([last.payload, next.payload]) }
    else result.push(next)
  }
  return result
}

describe('the frame codec', () => {
  test('every frame survives encoding and decoding under any chunking', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 10 }), fc.array(fc.nat(40_000), { maxLength: 30 }), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map((each) => each.bytes))
        const decoded = decode(cut(bytes, cuts))
        expect(decoded.error).toBeNull()
        expect(decoded.frames).toEqual(joined(frames.map((each) => each.frame)))
      }),
      { numRuns: 300 },
    )
  })

  test('frames survive when every byte comes alone', () => {
    const bytes = CORPUS['to-server-command'] ?? Buffer.alloc(0)
    const whole = decode([bytes])
    expect(whole.frames).toHaveLength(5)
    expect(decode([...bytes].map((byte) => Buffer.from([byte])))).toMatchObject({ frames: whole.frames, error: null })
  })

  test('random bytes never throw anything but a violation and never hold more than the limit', () => {
    const almostFrame = fc
      .tuple(uint32, fc.integer({ min: 0, max: 25 }), fc.constantFrom(0, 0, 0, 1, 2, 3), fc.constantFrom(0, 0, 0, 1), uint32, byteString)
      .map(([length, type, channel, reserved, stream, rest]) => {
        const bytes = Buffer.alloc(HEADER_BYTES)
        bytes.writeUInt32LE(length % 100_000, 0)
        bytes.set([type, channel, reserved], 4)
        bytes.writeUInt32LE(stream, 8)
        return Buffer.concat([bytes, rest])
      })
    fc.assert(
      fc.property(fc.array(fc.oneof(almostFrame, byteString), { maxLength: 8 }), (chunks) => {
        const { error, mostHeldBytes } = decode(chunks)
        expect(error === null || isHoldfastError(error, 'guest_protocol_violated')).toBe(true)
        expect(mostHeldBytes).toBeLessThanOrEqual(MAX_CONTROL_TO_SERVER_BYTES)
      }),
      { numRuns: 1_000 },
    )
  })

  test('a payload at the limit passes and one byte more ends the channel', () => {
    const largest = Buffer.alloc(MAX_DATA_BYTES)
    expect(decode([encodeDataHeader(1, 1, MAX_DATA_BYTES), largest])).toMatchObject({ error: null })
    expect(decode([encodeDataHeader(1, 1, MAX_DATA_BYTES + 1)]).error).toMatchObject({ code: 'guest_protocol_violated' })
    const control = (bytes: number): Buffer => encodeControl(FrameType.REPLY, 1, [[Tag.MESSAGE, Buffer.alloc(bytes - 5)]])
    expect(decode([control(MAX_CONTROL_TO_SERVER_BYTES)])).toMatchObject({ error: null })
    expect(decode([control(MAX_CONTROL_TO_SERVER_BYTES + 1)]).error).toMatchObject({ code: 'guest_protocol_violated' })
  })

  test('DATA is handed on as slices of the chunk that brought it', () => {
    const chunk = Buffer.concat([encodeDataHeader(1, 1, 5), Buffer.from('hello')])
    const slices: Buffer[] = []
    new FrameDecoder({ data: (_stream, _channel, bytes) => slices.push(bytes), control: () => undefined }, 10).push(chunk)
    expect(slices.map((slice) => slice.buffer === chunk.buffer)).toEqual([true])
  })

  test('a stopped decoder hands on nothing, not even the rest of its chunk', () => {
    const end = CORPUS['to-server-end'] ?? Buffer.alloc(0)
    let heard = 0
    const decoder = new FrameDecoder(
      {
        data: () => undefined,
        control: () => {
          heard += 1
          decoder.stop()
        },
      },
      1_000,
    )
    decoder.push(Buffer.concat([end, end]))
    expect(heard).toBe(1)
  })
})

test('a number beyond 2^53 is a violation, and the largest below it is exact', () => {
  const seq = (value: bigint): Fields => new Fields(encodeControl(FrameType.ACK, 1, [[Tag.SEQ, value]]).subarray(HEADER_BYTES))
  expect(seq(2n ** 53n - 1n).requiredNumber(Tag.SEQ)).toBe(Number.MAX_SAFE_INTEGER)
  expect(() => seq(2n ** 53n).requiredNumber(Tag.SEQ)).toThrow('beyond 2^53')
})

describe('the corpus', () => {
  test('the files hold what corpus.ts says', () => {
    expect(
      readdirSync(CORPUS_DIRECTORY)
        .filter((name) => name.endsWith('.bin'))
        .toSorted(),
    ).toEqual(
      Object.keys(CORPUS)
        .map((name) => `${name}.bin`)
        .toSorted(),
    )
    for (const [name, bytes] of Object.entries(CORPUS))
      expect(readFileSync(join(CORPUS_DIRECTORY, `${name}.bin`)).equals(bytes), name).toBe(true)
  })

  const names = Object.keys(CORPUS)
  test.each(names.filter((name) => name.startsWith('to-') || name.startsWith('fragment-')))('%s is accepted', (name) => {
    const maximum = name.startsWith('to-guest') ? MAX_CONTROL_TO_GUEST_BYTES : MAX_CONTROL_TO_SERVER_BYTES
    expect(decode([CORPUS[name] ?? Buffer.alloc(0)], maximum).error).toBeNull()
  })

  test.each(names.filter((name) => name.startsWith('malformed-') && name !== 'malformed-field-width'))('%s is refused', (name) => {
    expect(decode([CORPUS[name] ?? Buffer.alloc(0)], MAX_CONTROL_TO_GUEST_BYTES).error).toMatchObject({ code: 'guest_protocol_violated' })
  })

  test('malformed-field-width is refused when the field is read', () => {
    const payload = (CORPUS['malformed-field-width'] ?? Buffer.alloc(0)).subarray(HEADER_BYTES)
    expect(() => new Fields(payload).requiredNumber(Tag.ERRNO)).toThrow('instead of 4')
  })
})
