/**
 * Gives a tree that a sandbox filled to another user of the host, in a process of its own, so that the server's loop is free however large
 * the tree is.
 *
 * The guest's binary does it: it walks trees that are deeper than any path and follows no link. Whoever calls this has ended everything
 * that could still write there. A crash leaves part of the tree to the user before; give it again.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Some ten million entries. */
const LONGEST_MS = 60_000

const run = promisify(execFile)

/** `program` is the guest's binary. */
export async function giveTree(program: string, path: string, uid: number, gid: number): Promise<void> {
  await run(program, ['chown', path, String(uid), String(gid), 'r'], {
    env: {},
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
    maxBuffer: 4096,
  })
}
