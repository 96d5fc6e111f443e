/**
 * Files of a session's sandbox: read and written as streams of any size, byte for byte.
 *
 * Paths are absolute, or relative to the session's workspace.
 */
import type { FileLinkView, FileView } from '@holdfast/protocol'
import { callOf } from './call-options.ts'
import type { CallOptions } from './call-options.ts'
import { isHoldfastError } from './errors.ts'
import { fileEntry } from './file-entry.ts'
import type { FileEntry } from './file-entry.ts'
import { openFile } from './file-reading.ts'
import type { ReadOptions } from './file-reading.ts'
import { watchFiles } from './file-watching.ts'
import type { FileChange, WatchOptions } from './file-watching.ts'
import { bodyOf } from './input.ts'
import type { Content } from './input.ts'
import { bodyPieces, streamOfPieces } from './transport/body-stream.ts'
import type { Transport } from './transport/transport.ts'
import { camel, snake } from './wire-names.ts'

export interface WriteOptions extends CallOptions {
  /** Of a new file; `0644` unless given. */
  readonly mode?: string | undefined
  /** Whether missing directories are made; they are, unless this is `false`. */
  readonly parents?: boolean | undefined
  /** After what is there, instead of in its place. */
  readonly append?: boolean | undefined
  /** Fails with `file_exists` when there is something already. */
  readonly exclusive?: boolean | undefined
}

export interface ListFilesOptions extends CallOptions {
  /** 1 unless given: what lies directly in it. */
  readonly depth?: number | undefined
  /** 1000 unless given, at most 10000. */
  readonly limit?: number | undefined
}

export interface FileList {
  readonly items: readonly FileEntry[]
  /** There is more than `limit`. */
  readonly truncated: boolean
}

export interface Files {
  read(path: string, options?: ReadOptions): Promise<Uint8Array<ArrayBuffer>>
  /** As text; what is not UTF-8 is replaced. */
  readText(path: string, options?: ReadOptions): Promise<string>
  /** For what is too large for memory. A connection that breaks is made again. */
  readStream(path: string, options?: ReadOptions): Promise<ReadableStream<Uint8Array>>
  write(path: string, content: Content, options?: WriteOptions): Promise<FileEntry>
  list(path: string, options?: ListFilesOptions): Promise<FileList>
  /** `follow`: of what a symbolic link points to. */
  stat(path: string, options?: CallOptions & { readonly follow?: boolean | undefined }): Promise<FileEntry>
  /** Whether there is anything of that name, a link to nothing too. */
  exists(path: string, options?: CallOptions): Promise<boolean>
  /** `recursive`: a directory with everything in it. */
  remove(path: string, options?: CallOptions & { readonly recursive?: boolean | undefined }): Promise<void>
  move(from: string, to: string, options?: Omit<WriteOptions, 'mode' | 'append'>): Promise<FileEntry>
  makeDirectory(path: string, options?: Omit<WriteOptions, 'append' | 'exclusive'>): Promise<FileEntry>
  /** Resolves when the watch stands; then every change is told until you leave. */
  watch(path: string, options?: WatchOptions): Promise<AsyncIterableIterator<FileChange>>
  /** A directory or a file as a tar archive. */
  download(path: string, options?: CallOptions): Promise<ReadableStream<Uint8Array>>
  /** Unpacks a tar archive, which may be gzipped, into a directory, which is made if need be. */
  upload(path: string, archive: Content, options?: CallOptions): Promise<FileEntry>
  /** A link by which a browser reads this file without a key, for an hour unless `ttlSeconds` says otherwise; at most a day. */
  link(path: string, options?: CallOptions & { readonly ttlSeconds?: number | undefined }): Promise<FileLink>
}

/** Anyone who has the `url` reads the file; it ends with its time, and with the key that asked for it. */
export interface FileLink {
  readonly url: string
  readonly path: string
  readonly expiresAt: string
}

export interface FilesNeeds {
  readonly transport: Transport
  readonly sessionId: string
  readonly letGo: AbortSignal
}

export function createFiles({ transport, sessionId, letGo }: FilesNeeds): Files {
  const base = `/v1/sessions/${sessionId}/files`
  const readStream: Files['readStream'] = (path, options = {}) => openFile({ transport, path: base, file: path }, options)

  async function put(route: string, content: Content, query: Readonly<Record<string, string | boolean | undefined>>, options: CallOptions) {
    // However long it takes: how much there is to send is not known.
    const waiting = { signal: options.signal, timeoutMs: options.timeoutMs ?? Infinity }
    const body = await bodyOf(content)
    const headers = { 'content-type': route === '' ? 'application/octet-stream' : 'application/x-tar' }
    return fileEntry(await transport.json<FileView>({ method: 'PUT', path: `${base}${route}`, query, body, headers, ...waiting }))
  }

  async function post(route: string, json: object, options: CallOptions): Promise<FileEntry> {
    return fileEntry(await transport.json<FileView>({ method: 'POST', path: `${base}/${route}`, json, ...callOf(options) }))
  }

  const stat: Files['stat'] = async (path, { follow, ...options } = {}) =>
    fileEntry(await transport.json<FileView>({ path: `${base}/stat`, query: { path, follow }, ...callOf(options) }))

  return {
    readStream,
    read: async (path, options) => new Uint8Array(await new Response(await readStream(path, options)).arrayBuffer()),
    readText: async (path, options) => new TextDecoder().decode(await new Response(await readStream(path, options)).arrayBuffer()),
    write: (path, content, { mode, parents, append, exclusive, ...options } = {}) =>
      put('', content, { path, mode, parents, append, exclusive }, options),
    list: async (path, { depth, limit, ...options } = {}) => {
      const query = { path, depth, limit }
      const wire = await transport.json<{ readonly items: readonly FileView[]; readonly truncated: boolean }>({
        ...{ path: `${base}/list`, query },
        ...callOf(options),
      })
      return { items: wire.items.map(fileEntry), truncated: wire.truncated }
    },
    stat,
    async exists(path, options = {}) {
      try {
        await stat(path, { ...options, follow: false })
        return true
      } catch (error) {
        if (isHoldfastError(error, 'file_not_found')) return false
        throw error
      }
    },
    remove: (path, { recursive, ...options } = {}) =>
      transport.send({ method: 'DELETE', path: base, query: { path, recursive }, ...callOf(options) }),
    move: (from, to, { parents, exclusive, ...options } = {}) => post('move', snake({ from, to, parents, exclusive }), options),
    makeDirectory: (path, { parents, mode, ...options } = {}) => post('directories', snake({ path, parents, mode }), options),
    watch: (path, options = {}) => watchFiles({ transport, path: `${base}/watch`, watched: path, letGo }, options),
    async download(path, options = {}) {
      const request = { path: `${base}/archive`, query: { path }, headers: { accept: '*/*' }, ...callOf(options) }
      const answer = await transport.open(request)
      return streamOfPieces(bodyPieces(answer), () => answer.close())
    },
    upload: (path, archive, options = {}) => put('/archive', archive, { path }, options),
    async link(path, { ttlSeconds, ...options } = {}) {
      const json = snake({ path, ttlSeconds })
      return camel(await transport.json<FileLinkView>({ method: 'POST', path: `${base}/links`, json, ...callOf(options) }))
    },
  }
}
