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
import { bytesFromLine, linesIn } from './line-window.ts'
import type { Tool } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'

/** So much of a file is looked through for a line. */
const MAX_SOUGHT_BYTES = 67_108_864
const MAX_NAMES = 10_000

type Input = ToolInput<'read'>
type Result = ToolResult<'read'>
type Files = Pick<SessionFiles, 'read' | 'list'>

export function readTool(files: Files): Tool<'read'> {
  return {
    name: 'read',
    description:
      'Read a file in your sandbox, or list a directory. Long files come in parts: go on at next_offset. ' +
      'For what is not text use encoding base64, and go on at next_byte_offset.',
    async run({ target, session }, input) {
      const path = absolutePath(session, input.path)
      try {
        return await (input.encoding === 'base64' ? readBytes : readText)(files, target, path, input)
      } catch (error) {
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
  const bytes = content === null ? Buffer.alloc(0) : await closing(content, () => bytesFromLine(content, wish))
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

async function readBytes(files: Files, target: FileTarget, path: string, input: Input): Promise<Result> {
  const { byte_offset: offset, max_bytes: maxBytes } = input
  const { entry, content } = await files.read(target, path, ({ size }) =>
    offset < size ? { offset, length: Math.min(maxBytes, size - offset) } : null,
  )
  const pieces: Buffer[] = []
  if (content !== null)
    await closing(content, async () => {
      for await (const piece of content as AsyncIterable<Buffer>) pieces.push(piece)
    })
  const bytes = Buffer.concat(pieces)
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
