/**
 * `read`: lines of a text file, bytes of any file, or the names in a directory.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import type { Readable } from 'node:stream'
import { isHoldfastError } from '@holdfast/protocol'
import type { ToolInput, ToolResult } from '@holdfast/protocol'
import type { FileTarget, SessionFiles } from '../sessions/session-files.ts'
import { firstThatFit } from './clipped-text.ts'
import { fileKind } from './file-kind.ts'
import { bytesFromLine, linesIn } from './line-window.ts'
import type { Tool } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'

/** So much of a file is looked through for a line. */
const MAX_SOUGHT_BYTES = 67_108_864
const MAX_NAMES = 10_000
/** Base64 makes a third more of it, and an MCP answer has at most 4 MiB. */
const MAX_IMAGE_BYTES = 2_097_152

type Input = ToolInput<'read'>
type Result = ToolResult<'read'>
type Files = Pick<SessionFiles, 'read' | 'list'>

export function readTool(files: Files): Tool<'read'> {
  return {
    name: 'read',
    description:
      'Read a file in your sandbox, or list a directory. Long files come in parts: go on at next_offset. ' +
      'Images are shown where you can see images. For what else is not text use encoding base64, and go on at next_byte_offset.',
    async run({ target, session, showsImages }, input) {
      const path = absolutePath(session, input.path)
      try {
        return await (input.encoding === 'base64' ? readBytes : readText)(files, target, path, input)
      } catch (error) {
        if (error instanceof NotText) return await readImage(files, target, path, error, showsImages)
        if (!isHoldfastError(error, 'file_operation_failed') || error.details['errno'] !== 'EISDIR') throw error
        return readDirectory(files, target, path, input)
      }
    },
  }
}

async function readText(files: Files, target: FileTarget, path: string, input: Input): Promise<Result> {
  const { entry, slice, content } = await files.read(target, path, ({ size }) =>
    size === 0 ? null : { offset: 0, length: Math.min(size, MAX_SOUGHT_BYTES) },
  )
  const wish = { offset: input.offset, limit: input.limit, maxBytes: input.max_bytes }
  const bytes = content === null ? Buffer.alloc(0) : await closing(content, () => bytesFromLine(textOnly(content, path, entry.size), wish))
  if (bytes.length === 0 && slice !== null && slice.length < entry.size)
    throw new ToolFailure(`line ${input.offset} does not begin within the first ${MAX_SOUGHT_BYTES} bytes; use exec with sed -n`)
  const { lines, cutBy } = linesIn(bytes, wish)
  const isTooLong = cutBy === 'bytes' && lines.length === 0
  const endLine = input.offset + lines.length - 1
  return {
    ok: true,
    content: isTooLong
      ? `[line ${input.offset} is longer than ${input.max_bytes} bytes; read it with encoding base64, or cut it with exec]`
      : lines.join('\n'),
    truncated: cutBy !== null,
    truncated_by: cutBy,
    start_line: input.offset,
    end_line: endLine,
    // Whoever goes on comes past a line that does not fit.
    next_offset: cutBy === null ? null : endLine + (isTooLong ? 2 : 1),
    max_lines: input.limit,
    max_bytes: input.max_bytes,
  }
}

/** Not an error by itself: an image may be shown. */
class NotText extends Error {
  readonly kind: string
  readonly size: number

  constructor(path: string, kind: string, size: number) {
    super(
      kind === 'binary'
        ? `${path} is not text: it has NUL bytes, and ${size} bytes in all. Look at it with a program in exec, or read its bytes with encoding base64`
        : `${path} is an image (${kind}, ${size} bytes), not text. Read its bytes with encoding base64 if you need them`,
    )
    this.kind = kind
    this.size = size
  }
}

async function* textOnly(content: AsyncIterable<Buffer>, path: string, size: number): AsyncGenerator<Buffer, void, void> {
  let isFirst = true
  for await (const piece of content) {
    const kind = isFirst ? fileKind(piece) : 'text'
    if (kind !== 'text') throw new NotText(path, kind, size)
    isFirst = false
    yield piece
  }
}

async function readImage(files: Files, target: FileTarget, path: string, found: NotText, isShown: boolean | undefined): Promise<Result> {
  if (found.kind === 'binary' || isShown !== true) throw new ToolFailure(found.message)
  if (found.size > MAX_IMAGE_BYTES)
    throw new ToolFailure(
      `${path} is an image of ${found.size} bytes, and images of up to ${MAX_IMAGE_BYTES} bytes can be shown; make a smaller copy of it with exec`,
    )
  const { content } = await files.read(target, path, ({ size }) => ({ offset: 0, length: Math.min(size, MAX_IMAGE_BYTES) }))
  const bytes = content === null ? Buffer.alloc(0) : await allOf(content)
  // It may be another file by now.
  const kind = fileKind(bytes)
  if (kind === 'text' || kind === 'binary') throw new ToolFailure(`${path} changed while it was read; read it again`)
  return { ok: true, image: { mime_type: kind, data: bytes.toString('base64') }, size_bytes: bytes.length }
}

async function allOf(content: Readable): Promise<Buffer> {
  const pieces: Buffer[] = []
  await closing(content, async () => {
    for await (const piece of content as AsyncIterable<Buffer>) pieces.push(piece)
  })
  return Buffer.concat(pieces)
}

async function readBytes(files: Files, target: FileTarget, path: string, input: Input): Promise<Result> {
  const { byte_offset: offset, max_bytes: maxBytes } = input
  const { entry, content } = await files.read(target, path, ({ size }) =>
    offset < size ? { offset, length: Math.min(maxBytes, size - offset) } : null,
  )
  const bytes = content === null ? Buffer.alloc(0) : await allOf(content)
  const hasMore = offset + bytes.length < entry.size
  return {
    ok: true,
    content: bytes.toString('base64'),
    encoding: 'base64',
    byte_offset: offset,
    length: bytes.length,
    size_bytes: entry.size,
    has_more: hasMore,
    next_byte_offset: hasMore ? offset + bytes.length : null,
    max_bytes: maxBytes,
  }
}

async function readDirectory(files: Files, target: FileTarget, path: string, input: Input): Promise<Result> {
  const { items, truncated } = await files.list(target, path, { depth: 1, limit: MAX_NAMES })
  const names = items.map((entry) => entry.path.slice(entry.path.lastIndexOf('/') + 1)).toSorted()
  const shown = firstThatFit(names, input.max_bytes, (name) => name)
  const cutBy = truncated ? 'entries' : shown.length < names.length ? 'bytes' : null
  const total = names.length + (truncated ? 1 : 0)
  return { ok: true, content: shown.join('\n'), is_directory: true, total, truncated: cutBy !== null, truncated_by: cutBy }
}

/** Whatever comes of it, nothing is read on. */
async function closing<T>(content: Readable, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    content.destroy()
  }
}
