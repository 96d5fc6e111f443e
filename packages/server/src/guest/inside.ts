/**
 * The inside of a sandbox, whoever provides it: the guest for local backends, an SDK for remote ones.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import type { Duplex, Readable } from 'node:stream'

export interface ExecRequest {
  readonly argv: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Default `/workspace`; with a `uid` its `home`, or `/`. */
  readonly cwd?: string
  /** A name from the sandbox's passwd file; default the sandbox's own user. Never root. */
  readonly user?: string
  /**
   * Who runs it in a packed sandbox, which has no default user; its gid is the same number and it has no other group.
   * Never root, never the guest's own, never outside the range of the spec.
   */
  readonly uid?: number
  /** With a `uid`: its HOME, and where TMPDIR (`<home>/.tmp`) lies. Both are made by whoever made the home. */
  readonly home?: string
  /** The caller's own name for this execution, at most 128 bytes; attach by it later. */
  readonly tag?: string
  /** `pipe` keeps stdin open for `stdin.write`; default `none` (`/dev/null`). */
  readonly stdin?: 'none' | 'pipe'
  readonly pty?: TerminalSize
  readonly timeoutMs?: number
  /** Between SIGTERM and SIGKILL when the timeout or `kill` strikes. */
  readonly graceMs?: number
  /** Linux resource name → soft and hard value, e.g. `{ nofile: [64, 64] }`. */
  readonly rlimits?: Readonly<Partial<Record<RlimitName, readonly [soft: number, hard: number]>>>
  /** Killed when the connection or the stream closes. Default false: it outlives the server. */
  readonly ephemeral?: boolean
}

export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

export type RlimitName = 'cpu' | 'fsize' | 'data' | 'stack' | 'core' | 'nproc' | 'nofile' | 'memlock' | 'as'

export interface OutputChunk {
  readonly channel: 'stdout' | 'stderr'
  readonly bytes: Buffer
  /** Sequence number after this chunk: what to give as `after` to go on from here. */
  readonly seq: number
}

/** How an execution ended. Only ever from a real wait status. */
export interface ExecExit {
  /** `null` when a signal killed it. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly killed: boolean
  /** Other processes of its tree live on in the background. */
  readonly survivors: boolean
  readonly durationMs: number
}

/**
 * A started execution as one reader sees it. Output must be consumed (iterate `output`, or call `drain`): unread
 * output is back-pressure on the program. Abandoning the iterator detaches; the program lives on.
 */
export interface Execution {
  readonly id: bigint
  readonly pid: number
  readonly tag: string | null
  /** Bytes lost before the first chunk because nobody read them in time (only after `attach`). */
  readonly skippedBytes: number
  readonly output: AsyncIterable<OutputChunk>
  /** Resolves once the exit is known; rejects with `guest_unreachable` when contact is lost. Independent of `output` only for programs that print less than a window. */
  readonly exit: Promise<ExecExit>
  readonly stdin: { write(bytes: Uint8Array): Promise<void>; end(): void }
  /**
   * Calls back for every chunk without buffering; resolves with the exit. The fast path for `exec` and streams. A chunk's
   * bytes are valid only until the callback returns (also when it returns a promise): copy what you keep.
   */
  drain(onChunk: (chunk: OutputChunk) => void | Promise<void>): Promise<ExecExit>
  resize(size: TerminalSize): Promise<void>
  /** To the main process, or to every process of the tree. */
  signal(signal: NodeJS.Signals | number, scope?: 'main' | 'tree'): Promise<void>
  /** Kills the whole tree and proves it empty. */
  kill(graceMs?: number): Promise<KillReport>
  /** Stops reading; the program lives on (unless ephemeral). */
  detach(): void
}

export interface KillReport {
  readonly killed: number
  /** False when the tree could not be proved empty: quarantine and destroy the sandbox. */
  readonly verified: boolean
}

export interface ProcessInfo {
  readonly id: bigint
  readonly tag: string | null
  readonly pid: number
  /** `null`: a guest that was started by an older server does not say. */
  readonly uid: number | null
  readonly name: string
  readonly state: 'running' | 'lingering' | 'ended'
  readonly seq: number
  readonly ageMs: number
}

export type ExecutionKey = { readonly id: bigint } | { readonly tag: string }

export interface Processes {
  list(): Promise<readonly ProcessInfo[]>
  attach(key: ExecutionKey, options?: { readonly after?: number }): Promise<Execution>
  signal(key: ExecutionKey, signal: NodeJS.Signals | number, scope?: 'main' | 'tree'): Promise<void>
  kill(key: ExecutionKey, graceMs?: number): Promise<KillReport>
  /**
   * Kills everything that one uid of a packed sandbox runs, whoever its parent is, and proves that the kernel shows none of it.
   * Nothing starts for that uid meanwhile.
   */
  killUser(uid: number, graceMs?: number): Promise<KillReport>
  /** An ended execution's record may go. Sent lazily with the next frame. */
  forget(id: bigint): void
}

export type EntryType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'character-device' | 'block-device'

export interface Entry {
  readonly path: string
  readonly type: EntryType
  /** Permission bits, e.g. 0o644. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly owner: string
  readonly group: string
  readonly size: number
  readonly links: number
  readonly modifiedAt: Date
  readonly accessedAt: Date
  readonly changedAt: Date
  readonly target: string | null
}

export interface GrepMatch {
  readonly path: string
  readonly line: number
  readonly text: string
}

export interface WatchEvent {
  readonly type: 'create' | 'write' | 'remove' | 'rename' | 'chmod' | 'overflow'
  readonly path: string
}

export interface Limited<T> {
  readonly items: readonly T[]
  readonly truncated: boolean
}

/** What can run out in a search; `file`: one was longer than is searched of a file. */
export const SEARCH_BOUNDS = ['matches', 'entries', 'files', 'bytes', 'file', 'memory', 'time'] as const
export type SearchBound = (typeof SEARCH_BOUNDS)[number]

export interface Found<T> extends Limited<T> {
  /** Only when it was cut; a guest that was started by an older server does not say. */
  readonly cutBy?: SearchBound
  /** How many there are, where that was asked for. */
  readonly total?: number
}

/** As whom, where a sandbox has several users; see `ExecRequest.uid`. */
export interface AsUser {
  readonly uid?: number
}

/** Failures are `file_operation_failed` with `details.errno` (`ENOENT`, …) and `details.path`. Paths are absolute, inside. */
export interface Files {
  /** Resolves once the first bytes (or the end) arrived, so that a missing file rejects here. */
  read(
    path: string,
    options?: AsUser & { readonly offset?: number; readonly length?: number; readonly user?: string; readonly signal?: AbortSignal },
  ): Promise<Readable>
  write(
    path: string,
    content: Uint8Array | string | AsyncIterable<Uint8Array>,
    options?: AsUser & {
      readonly mode?: number
      readonly append?: boolean
      readonly parents?: boolean
      readonly exclusive?: boolean
      readonly user?: string
      readonly signal?: AbortSignal
    },
  ): Promise<void>
  stat(path: string, options?: AsUser & { readonly follow?: boolean }): Promise<Entry>
  list(path: string, options?: AsUser & { readonly depth?: number; readonly limit?: number }): Promise<Limited<Entry>>
  mkdir(path: string, options?: AsUser & { readonly parents?: boolean; readonly mode?: number }): Promise<void>
  move(from: string, to: string, options?: AsUser & { readonly parents?: boolean; readonly exclusive?: boolean }): Promise<void>
  remove(path: string, options?: AsUser & { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  chmod(path: string, mode: number, options?: AsUser & { readonly recursive?: boolean }): Promise<void>
  /** `as` is who does it; only root could give a file away, so in a packed sandbox this keeps or fails. */
  chown(path: string, uid: number, gid: number, options?: { readonly recursive?: boolean; readonly as?: number }): Promise<void>
  glob(
    pattern: string,
    options?: AsUser & {
      readonly root?: string
      readonly limit?: number
      readonly skipIgnored?: boolean
      /** The newest ones, newest first, and how many there are; otherwise the first ones by path. */
      readonly newestFirst?: boolean
      /** So many entries are looked at. */
      readonly maxEntries?: number
      readonly timeoutMs?: number
    },
  ): Promise<Found<Entry>>
  /** `include`: a glob on the name, or with a `/` on the path below the root. */
  grep(
    pattern: string,
    options?: AsUser & {
      readonly root?: string
      readonly include?: string
      readonly limit?: number
      readonly skipIgnored?: boolean
      readonly ignoreCase?: boolean
      readonly literal?: boolean
      readonly maxEntries?: number
      readonly maxFiles?: number
      readonly maxBytes?: number
      /** Processor time. What was found by then is the answer. */
      readonly cpuMs?: number
      readonly timeoutMs?: number
    },
  ): Promise<Found<GrepMatch>>
  /** Resolves once every event from now on will be seen. Leaving the loop ends the watch. */
  watch(
    path: string,
    options?: AsUser & { readonly recursive?: boolean; readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<WatchEvent>>
}

export interface Stats {
  readonly cpuUsec: number
  readonly memoryBytes: number
  readonly memoryLimitBytes: number | null
  readonly pids: number
  readonly diskUsedBytes: number
  readonly diskTotalBytes: number
  readonly uptimeMs: number
}

export interface Inside {
  /** Random per guest start: another value means another sandbox. */
  readonly bootId: string
  /** Resolves (never rejects) with the reason when the connection is over. */
  readonly closed: Promise<Error>
  exec(request: ExecRequest, signal?: AbortSignal): Promise<Execution>
  /** `exec` on a terminal. */
  pty(request: Omit<ExecRequest, 'stdin' | 'pty'> & { readonly size: TerminalSize }, signal?: AbortSignal): Promise<Execution>
  readonly processes: Processes
  readonly files: Files
  /** TCP to a port inside, also with the network off. Rejects with `connection_refused`. */
  connect(port: number, signal?: AbortSignal): Promise<Duplex>
  /** `path` chooses the file system. With a `uid`, in a packed sandbox: what the processes of that user take, and no more is to be seen there. */
  stats(options?: AsUser & { readonly path?: string }): Promise<Stats>
  /** Round trip; rejects with `guest_unreachable`. */
  ping(signal?: AbortSignal): Promise<void>
  close(): void
}
