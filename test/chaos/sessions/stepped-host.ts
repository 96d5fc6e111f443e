/**
 * Tells everything lasting that this process does to its host as steps: files made and removed, programs started, orders to an engine.
 *
 * Changes Node's own modules, for this process: call it before the server's modules do anything.
 */
import childProcess from 'node:child_process'
import files from 'node:fs/promises'
import http from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'
import type { Steps } from './steps.ts'

const LASTING = ['chmod', 'chown', 'mkdir', 'mkdtemp', 'rename', 'rm', 'rmdir', 'symlink', 'writeFile'] as const
type FileCall = (...given: readonly unknown[]) => Promise<unknown>

export function tellHostSteps(steps: Steps): void {
  const changeable = files as unknown as Record<string, FileCall>
  for (const name of LASTING) {
    const call = changeable[name]
    if (call === undefined) throw new Error(`this Node has no ${name}`)
    changeable[name] = async (...given) => {
      const result = await call(...given)
      // Forty files of a directory that nobody can find before it is whole.
      if (!String(given[0]).includes('/.making-etc-')) steps.tell(`after ${name} ${shown(given[0])}`)
      return result
    }
  }
  const openFile = files.open
  files.open = async (path, flags, mode) => {
    const handle = await openFile(path, flags, mode)
    if (flags !== undefined && typeof flags === 'string' && flags !== 'r') steps.tell(`after open ${shown(path)}`)
    return handle
  }
  const spawn = childProcess.spawn as (...given: readonly unknown[]) => unknown
  Object.assign(childProcess, {
    spawn(...given: readonly unknown[]) {
      const child = spawn(...given)
      steps.tell(`after spawn ${shown(given[0])}`)
      return child
    },
  })
  const request = http.request as (...given: readonly unknown[]) => http.ClientRequest
  Object.assign(http, {
    request(...given: readonly unknown[]) {
      const asked = request(...given)
      if (asked.method === 'GET' || asked.method === 'HEAD') return asked
      const order = `${asked.method} ${asked.path.replace(/\?.*/, '').replaceAll(/[0-9a-z_-]{20,}/g, '…')}`
      asked.once('finish', () => steps.tell(`after sending ${order}`))
      asked.prependOnceListener('response', () => steps.tell(`after the answer to ${order}`))
      return asked
    },
  })
  syncBuiltinESMExports()
}

/** Without what differs from run to run, so that a step keeps its name. */
function shown(path: unknown): string {
  return basename(String(path)).replaceAll(/(ses|sbx|exe|srv)_[0-9a-z]{16}/g, '$1')
}
