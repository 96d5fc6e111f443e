/**
 * `edit`: one exact passage of a file replaced by another.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 *
 * Works on bytes, so that what is not UTF-8 elsewhere in the file stays as it is. The new file replaces the old one at once and keeps
 * its mode; two edits of a session never work on the same old one.
 */
import type { FileTarget, SessionFiles } from '../sessions/session-files.ts'
import type { SessionTurns } from './session-turns.ts'
import type { Tool } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'
import { once } from './write-tool.ts'

const MAX_BYTES = 1_048_576

type Files = Pick<SessionFiles, 'read' | 'write'>

export function editTool({ files, turns }: { readonly files: Files; readonly turns: SessionTurns }): Tool<'edit'> {
  return {
    name: 'edit',
    description:
      'Replace one passage of a file in your sandbox. old_string must stand there exactly once: ' +
      'give enough of what is around it. Files of up to 1 MiB.',
    run({ target, session }, { path, old_string: before, new_string: after }) {
      const file = absolutePath(session, path)
      return turns.take(session.id, async () => {
        const edited = replaceOnce(await readWhole(files, target, file), Buffer.from(before), Buffer.from(after))
        if (edited.length > MAX_BYTES) throw new ToolFailure(`the edited file would have more than ${MAX_BYTES} bytes`)
        await files.write(target, file, once(edited), { parents: false })
        return { ok: true, path }
      })
    },
  }
}

async function readWhole(files: Files, target: FileTarget, path: string): Promise<Buffer> {
  const { content } = await files.read(target, path, ({ size }) => {
    if (size > MAX_BYTES) throw new ToolFailure(`the file has ${size} bytes; edit takes at most ${MAX_BYTES}, so use exec`)
    return { offset: 0, length: size }
  })
  const pieces: Buffer[] = []
  if (content !== null) for await (const piece of content as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces)
}

export function replaceOnce(content: Buffer, before: Buffer, after: Buffer): Buffer {
  const first = content.indexOf(before)
  if (first < 0) throw new ToolFailure('old_string is not in the file; read it again and copy the passage exactly')
  const count = countFrom(content, before, first)
  if (count > 1) throw new ToolFailure(`old_string stands in ${count} places; give more of what is around the one that you mean`)
  return Buffer.concat([content.subarray(0, first), after, content.subarray(first + before.length)])
}

/** Those that overlap are several too: which one was meant? */
function countFrom(content: Buffer, passage: Buffer, first: number): number {
  let count = 0
  for (let at = first; at >= 0; at = content.indexOf(passage, at + 1)) count += 1
  return count
}
