/**
 * `box_get_storage_analysis`: what a workspace keeps, on the host and in its sandboxes, as rows of LangBot's storage page.
 *
 * Directories on the host are read by the server; what only a sandbox sees (its cache and `/tmp`) is measured by a command inside.
 */
import { join } from 'node:path'
import type { BoxStorageAnalysis, BoxStorageDirectory } from '@holdfast/protocol/box'
import type { Sessions } from '../../../sessions/sessions.ts'
import type { SessionRow } from '../../../store/tables/sessions.ts'
import type { BoxTenant } from '../tenant.ts'
import type { BoxCallers } from './box-callers.ts'
import { ClippedOutput } from './clipped-output.ts'
import { addSizes, directorySize, NOTHING } from './directory-size.ts'
import type { DirectorySize } from './directory-size.ts'
import { recordedOf } from './spec-record.ts'

/** Of the directories that LangBot keeps in a workspace. */
const DETAILS = [
  ['mcp', '.mcp'],
  ['inbox', 'inbox'],
  ['outbox', 'outbox'],
] as const
const CACHE = '/home/user/.cache'
const INSIDE = [CACHE, '/tmp'] as const
/** Kilobytes and files of each, one line each; an empty line for what is not there. */
const MEASURE = `for d in ${INSIDE.join(' ')}; do if [ -d $d ]; then echo $(du -sk $d 2>/dev/null | cut -f1) $(find $d ! -type d 2>/dev/null | wc -l); else echo; fi; done`
const MEASURE_MS = 10_000
const AT_ONCE = 8
/** More sessions are counted as not asked: the client waits 60 seconds. */
const MAXIMUM_ASKED = 32

export interface StorageNeeds {
  readonly commands: Sessions['commands']
  readonly callers: Pick<BoxCallers, 'of'>
  /** The directory of a session's own files. */
  readonly filesOf: (sessionId: string) => string
}

export interface WorkspaceFacts {
  readonly directory: string
  /** What the client sees instead of the path. */
  readonly shownAs: string
  readonly sessions: readonly SessionRow[]
  readonly managedProcesses: number
}

export type StorageAnalysis = (tenant: BoxTenant, facts: WorkspaceFacts) => Promise<BoxStorageAnalysis>

export function storageAnalysis({ commands, callers, filesOf }: StorageNeeds): StorageAnalysis {
  async function inSandbox({ namespace }: BoxTenant, { id }: SessionRow): Promise<readonly DirectorySize[]> {
    const output = new ClippedOutput()
    const request = { command: { argv: ['/bin/sh', '-c', MEASURE], timeoutMs: MEASURE_MS } }
    await commands.run(callers.of(namespace), { id }, request, AbortSignal.timeout(2 * MEASURE_MS), (started) =>
      started.finish(({ channel, bytes }) => {
        if (channel === 'stdout') output.add(bytes)
      }),
    )
    const lines = output.text().split('\n')
    return INSIDE.map((_, index) => sizeIn(lines[index] ?? ''))
  }

  async function inSandboxes(tenant: BoxTenant, rows: readonly SessionRow[]): Promise<readonly DirectorySize[]> {
    const sums: DirectorySize[] = INSIDE.map(() => NOTHING)
    const add = (sizes: readonly DirectorySize[]) =>
      sizes.forEach((size, index) => (sums[index] = addSizes([sums[index] ?? NOTHING, size])))
    const asked = rows.slice(0, MAXIMUM_ASKED)
    for (let at = 0; at < asked.length; at += AT_ONCE)
      await Promise.all(
        // Decision: a session that cannot be asked is counted as one error in each row.
        asked.slice(at, at + AT_ONCE).map((row) => inSandbox(tenant, row).then(add, () => add(INSIDE.map(() => FAILED)))),
      )
    const left = rows.length - asked.length
    if (left > 0) add(INSIDE.map(() => ({ ...NOTHING, error_count: left })))
    return sums
  }

  return async (tenant, { directory, shownAs, sessions, managedProcesses }) => {
    const onHost = async (key: string, name: string): Promise<BoxStorageDirectory> => ({
      ...{ key, path: join(shownAs, name), ...(await directorySize(join(directory, name))), scope: 'runtime_host' },
      ...(name === '' ? { kind: 'root' } : { kind: 'detail', parent_key: 'workspace' }),
    })
    const rows = [await onHost('workspace', ''), ...(await Promise.all(DETAILS.map(([key, name]) => onHost(key, name))))]
    if (sessions.length > 0) {
      const own = sessions.filter((row) => (recordedOf(row)?.host_path ?? null) === null)
      const [caches = NOTHING, temp = NOTHING] = await inSandboxes(tenant, sessions)
      const inside = [
        ['session_workspaces', '/workspace', addSizes(await Promise.all(own.map(({ id }) => directorySize(filesOf(id)))))],
        ['session_caches', CACHE, caches],
        ['session_temp', '/tmp', temp],
      ] as const
      for (const [key, path, size] of inside)
        rows.push({ key, path: `${path} (${sessions.length} sandbox sessions)`, kind: 'root', ...size, scope: 'sandbox_sessions' })
    }
    const roots = rows.filter(({ kind }) => kind === 'root')
    return {
      size_bytes: roots.reduce((sum, { size_bytes: bytes }) => sum + bytes, 0),
      directories: rows,
      active_sessions: sessions.length,
      managed_processes: managedProcesses,
    }
  }
}

const FAILED: DirectorySize = { ...NOTHING, error_count: 1 }

function sizeIn(line: string): DirectorySize {
  if (line.trim() === '') return NOTHING
  const [, kilobytes, files] = /^(\d{1,12}) (\d{1,12})$/.exec(line.trim()) ?? []
  if (kilobytes === undefined) return FAILED
  return { exists: true, size_bytes: Number(kilobytes) * 1024, file_count: Number(files), error_count: 0 }
}
