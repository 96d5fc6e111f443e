/**
 * Files on the wire: what is inside a session's sandbox, by path. Contents travel as raw bytes and have no shape here.
 */
import { z } from 'zod'
import { queryFlag, queryNumber } from './paging.ts'
import { LinkTtlSeconds } from './previews.ts'

export const MAXIMUM_PATH_BYTES = 4096
export const DEFAULT_LIST_LIMIT = 1_000
export const MAXIMUM_LIST_LIMIT = 10_000
export const MAXIMUM_LIST_DEPTH = 100

export const FILE_TYPES = ['file', 'directory', 'symlink', 'fifo', 'socket', 'character-device', 'block-device'] as const

export const FilePath = z
  .string({ error: 'must be a path' })
  .min(1, { error: 'must not be empty' })
  .refine((path) => !path.includes('\0'), { error: 'must not contain a NUL character' })
  .refine((path) => new TextEncoder().encode(path).length <= MAXIMUM_PATH_BYTES, { error: `must be at most ${MAXIMUM_PATH_BYTES} bytes` })
  .meta({ description: 'Inside the sandbox: absolute, or relative to the workspace of the session.' })

/** Permission bits as people write them. */
export const FileMode = z.string({ error: 'must be permission bits such as "0644"' }).regex(/^[0-7]{3,4}$/, {
  error: 'must be permission bits such as "0644"',
})

export const FileView = z.object({
  /** Absolute, inside. */
  path: z.string(),
  type: z.enum(FILE_TYPES),
  size: z.number(),
  mode: FileMode,
  uid: z.int(),
  gid: z.int(),
  owner: z.string(),
  group: z.string(),
  modified_at: z.iso.datetime(),
  /** Where a symlink points. */
  target: z.string().nullable(),
})
export type FileView = z.output<typeof FileView>

export const FileListView = z.object({
  items: z.array(FileView),
  /** There is more than was asked for. */
  truncated: z.boolean(),
})

export const FileQuery = z.strictObject({ path: FilePath })
export const ReadFileQuery = z.strictObject({
  path: FilePath,
  link: z
    .string()
    .max(8_192, { error: 'must be at most 8192 characters' })
    .optional()
    .meta({ description: 'The token of a link to this file, in place of a key.' }),
})
export const CreateFileLinkBody = z.strictObject({ path: FilePath, ttl_seconds: LinkTtlSeconds })
export const FileLinkView = z.object({
  /** Anyone who has it reads the file, without a key. */
  url: z.url(),
  path: z.string(),
  expires_at: z.iso.datetime(),
})
export type FileLinkView = z.output<typeof FileLinkView>
export const WriteFileQuery = z.strictObject({
  path: FilePath,
  mode: FileMode.optional().meta({ description: 'Left out: that of the file that is replaced, or 0644.' }),
  parents: queryFlag(true).meta({ description: 'Make the directories above it.' }),
  append: queryFlag(false).meta({ description: 'Add to the end of what is there.' }),
  exclusive: queryFlag(false).meta({ description: 'Refuse to replace what is there.' }),
})
export const RemoveFileQuery = z.strictObject({
  path: FilePath,
  recursive: queryFlag(false).meta({ description: 'Also what is in the directory.' }),
})
export const StatFileQuery = z.strictObject({
  path: FilePath,
  follow: queryFlag(false).meta({ description: 'What a symlink points to, instead of the link.' }),
})
export const ListFilesQuery = z.strictObject({
  path: FilePath,
  depth: queryNumber(1, MAXIMUM_LIST_DEPTH).prefault('1').meta({ description: 'How many levels of directories.' }),
  limit: queryNumber(1, MAXIMUM_LIST_LIMIT).prefault(`${DEFAULT_LIST_LIMIT}`).meta({ description: 'How many entries at most.' }),
})
export const WatchFilesQuery = z.strictObject({
  path: FilePath,
  recursive: queryFlag(false).meta({ description: 'Also in the directories below, those to come included.' }),
})

export const MoveFileBody = z.strictObject({
  from: FilePath,
  to: FilePath,
  /** Make the directories above the new place. */
  parents: z.boolean().default(false),
  /** Refuse to replace what is there. */
  exclusive: z.boolean().default(false),
})
export const MakeDirectoryBody = z.strictObject({
  path: FilePath,
  /** Make the directories above it too; one that is there already is fine. */
  parents: z.boolean().default(false),
  mode: FileMode.optional(),
})

/** What a watch tells: a rename is `rename` of the old path, then `create` of the new one. */
export const WATCH_EVENTS = ['create', 'write', 'remove', 'rename', 'chmod', 'overflow'] as const
export const WatchEventView = z.object({ path: z.string() })
