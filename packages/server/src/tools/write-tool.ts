/**
 * `write`: a file, anew or at its end.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import type { SessionFiles } from '../sessions/session-files.ts'
import type { SessionTurns } from './session-turns.ts'
import type { Tool } from './tool.ts'
import { ToolFailure } from './tool-failure.ts'
import { absolutePath } from './tool-paths.ts'

export function writeTool({ files, turns }: { readonly files: Pick<SessionFiles, 'write'>; readonly turns: SessionTurns }): Tool<'write'> {
  return {
    name: 'write',
    description: 'Write a file in your sandbox. Directories above it are made. It replaces what is there, unless mode is append.',
    async run({ target, session }, { path, content, encoding, mode }) {
      const bytes = encoding === 'base64' ? decoded(content) : Buffer.from(content)
      const write = () => files.write(target, absolutePath(session, path), once(bytes), { parents: true, append: mode === 'append' })
      await turns.take(session.id, write)
      return { ok: true, path }
    },
  }
}

/** What is read and then written back is not taken for another: no letter is skipped in silence. */
function decoded(content: string): Buffer {
  const text = content.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw new ToolFailure('content: is not valid base64')
  return Buffer.from(text, 'base64')
}

export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}
