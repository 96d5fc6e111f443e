/**
 * `/v1/sessions/{id}/files`: the files inside a session's sandbox, as bytes of any length, as entries, and as what changes.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import {
  CreateFileLinkBody,
  FileLinkView,
  FileListView,
  FileQuery,
  FileView,
  HoldfastError,
  ListFilesQuery,
  MakeDirectoryBody,
  MoveFileBody,
  ReadFileQuery,
  RemoveFileQuery,
  StatFileQuery,
  WatchFilesQuery,
  WriteFileQuery,
} from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import type { Entry } from '../../guest/inside.ts'
import type { FileLinks } from '../../access/file-links.ts'
import { FILE_ERRORS } from '../../sessions/files/file-errors.ts'
import { checkLive } from '../../sessions/lifecycle/refusals.ts'
import type { FileTarget, SessionFiles } from '../../sessions/session-files.ts'
import type { SessionReads } from '../../sessions/session-reads.ts'
import { ByteContent } from './byte-content.ts'
import { START_ERRORS } from './commands.ts'
import { wantsEvents } from './event-stream.ts'
import { byteStream, download } from './file-download.ts'
import { fileView } from './file-view.ts'
import { watchEvents } from './file-watch.ts'
import { moment } from './moment.ts'
import { OneId } from './paths.ts'
import { bytes, empty, eventsOnly, json, route } from './route.ts'
import type { Entered, Route, Visit } from './route.ts'
import { whileAllowed } from './while-allowed.ts'

export interface FileRoutesNeeds {
  readonly files: SessionFiles
  readonly reads: Pick<SessionReads, 'open'>
  readonly clock: () => number
  readonly fileLinks: Pick<FileLinks, 'make'>
  /** Where clients reach this server; `null`: where they sent the request. */
  readonly publicUrl: string | null
}

/** What can keep anybody from the inside of a session, and what the file system there can say. */
const ERRORS: readonly ErrorCode[] = [...START_ERRORS.filter((code) => code !== 'incarnation_changed'), ...FILE_ERRORS]
const FILE = json('File', FileView, 'The entry')

export function fileRoutes({ files, reads, clock, fileLinks, publicUrl }: FileRoutesNeeds): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/files',
      summary: 'Read a file, or a range of its bytes',
      authorization: 'files',
      params: OneId,
      query: ReadFileQuery,
      takesFileLink: true,
      headers: {
        Range: 'One range of bytes, such as bytes=0-99; several are answered with the whole.',
        'If-Range': 'The Last-Modified that the range is to belong to; otherwise the whole comes.',
        'If-None-Match': 'The ETag of what the client has.',
      },
      answers: {
        200: bytes('application/octet-stream', 'The whole file'),
        206: bytes('application/octet-stream', 'The range that Content-Range names'),
        304: empty('It is what the client has'),
      },
      errors: [...ERRORS, 'range_not_satisfiable'],
      handle: (call) => download(call, call.params.id, call.query.path, { files, clock }),
    }),
    route({
      method: 'PUT',
      path: '/v1/sessions/{id}/files',
      summary: 'Write a file; it replaces what is there at once, when all of it has come',
      authorization: 'files',
      params: OneId,
      query: WriteFileQuery,
      body: new ByteContent('application/octet-stream'),
      answers: { 200: FILE },
      errors: ERRORS,
      async handle(call) {
        if (call.header('content-range') !== undefined)
          throw new HoldfastError('invalid_request', 'Content-Range: a part of a file cannot be written; send the whole, or append')
        const { path, mode, ...options } = call.query
        return shown(upload(call, (target) => files.write(target, path, call.body, { ...options, mode: modeOf(mode) })))
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/sessions/{id}/files',
      summary: 'Remove a file or a directory',
      authorization: 'files',
      params: OneId,
      query: RemoveFileQuery,
      answers: { 204: empty('It is gone') },
      errors: ERRORS,
      async handle(call) {
        const { path, recursive } = call.query
        await files.remove(targetOf(call), path, { recursive })
        return { status: 204, body: null }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/files/stat',
      summary: 'Look at a file, directory or link',
      authorization: 'files',
      params: OneId,
      query: StatFileQuery,
      answers: { 200: FILE },
      errors: ERRORS,
      handle: (call) => shown(files.stat(targetOf(call), call.query.path, call.query)),
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/files/list',
      summary: 'List what is in a directory',
      authorization: 'files',
      params: OneId,
      query: ListFilesQuery,
      answers: { 200: json('FileList', FileListView, 'The entries below the directory') },
      errors: ERRORS,
      async handle(call) {
        const { path, depth, limit } = call.query
        const { items, truncated } = await files.list(targetOf(call), path, { depth, limit })
        return { status: 200, body: { items: items.map(fileView), truncated } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/files/move',
      summary: 'Move or rename a file or a directory',
      authorization: 'files',
      params: OneId,
      body: MoveFileBody,
      answers: { 200: FILE },
      errors: ERRORS,
      handle: (call) => shown(files.move(targetOf(call), call.body.from, call.body.to, call.body)),
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/files/directories',
      summary: 'Make a directory',
      authorization: 'files',
      params: OneId,
      body: MakeDirectoryBody,
      answers: { 201: json('File', FileView, 'The directory') },
      errors: ERRORS,
      async handle(call) {
        const { path, parents, mode } = call.body
        return { status: 201, body: fileView(await files.makeDirectory(targetOf(call), path, { parents, mode: modeOf(mode) })) }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/files/links',
      summary: 'Make a link by which a browser reads one file, without a key',
      authorization: 'files',
      params: OneId,
      body: CreateFileLinkBody,
      answers: { 201: json('FileLink', FileLinkView, 'The link') },
      errors: ['not_found', 'forbidden', 'session_closed'],
      async handle(call) {
        const { path, ttl_seconds: ttlSeconds } = call.body
        const session = await reads.open(call.caller, 'files', call.params.id)
        checkLive(session)
        const request = { session, path, ttlMs: ttlSeconds * 1000, requestId: call.requestId }
        const { token, expiresAt } = await fileLinks.make(call.principal, request)
        const url = new URL(`/v1/sessions/${session.id}/files`, publicUrl ?? `http://${call.header('host') ?? 'localhost'}`)
        url.search = new URLSearchParams({ path, link: token }).toString()
        return { status: 201, body: { url: url.href, path, expires_at: moment(expiresAt) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/files/watch',
      summary: 'Follow what changes in a directory; a stream only',
      authorization: 'files',
      params: OneId,
      query: WatchFilesQuery,
      answers: {
        200: eventsOnly(
          'Changes from now on',
          'ready, then create, write, remove, rename (of the old path; create follows for the new), chmod and overflow with their path, or error',
        ),
      },
      errors: ERRORS,
      async handle(call) {
        if (!wantsEvents(call))
          throw new HoldfastError('invalid_request', 'Accept: must name text/event-stream, for this is a stream and nothing else')
        return watchEvents(call, targetOf(call), call.query, { files, reads })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/sessions/{id}/files/archive',
      summary: 'Read a directory or a file as a tar archive',
      authorization: 'files',
      params: OneId,
      query: FileQuery,
      answers: { 200: bytes('application/x-tar', 'The archive, made as it is read; a failure cuts the connection') },
      errors: ERRORS,
      async handle(call) {
        const allowed = whileAllowed(call)
        try {
          const { content } = await files.pack({ ...targetOf(call), signal: allowed.signal }, call.query.path)
          const body = byteStream(call, content, allowed.release)
          return { status: 200, body, headers: { 'content-type': 'application/x-tar' } }
        } catch (error) {
          allowed.release()
          throw error
        }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/sessions/{id}/files/archive',
      summary: 'Unpack a tar archive into a directory, which is made if it is not there',
      authorization: 'files',
      params: OneId,
      query: FileQuery,
      body: new ByteContent('application/x-tar', 'application/gzip'),
      answers: { 200: json('File', FileView, 'The directory') },
      errors: ERRORS,
      handle: (call) => shown(upload(call, (target) => files.unpack(target, call.query.path, call.body))),
    }),
  ]
}

type FileCall = Visit & Entered & { readonly params: { readonly id: string } }

function targetOf({ caller, params, signal }: FileCall): FileTarget {
  return { caller, sessionId: params.id, signal }
}

async function upload<T>(call: FileCall, write: (target: FileTarget) => Promise<T>): Promise<T> {
  const allowed = whileAllowed(call)
  try {
    return await write({ ...targetOf(call), signal: allowed.signal })
  } finally {
    allowed.release()
  }
}

async function shown(entry: Promise<Entry>) {
  return { status: 200 as const, body: fileView(await entry) }
}

function modeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number.parseInt(text, 8)
}
