/**
 * What a file from a sandbox is called in an answer: its type by its name, and whether a browser shows it.
 *
 * Files are hostile: whatever a browser shows runs no script and loads nothing (`CONTENT_POLICY`), and what could is only saved.
 */
import { posix } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.bmp': 'image/bmp',
  '.svg': 'image/svg+xml',
  '.pdf': 'application/pdf',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.ogg': 'audio/ogg',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.txt': 'text/plain; charset=utf-8',
  '.log': 'text/plain; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.htm': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
  '.gz': 'application/gzip',
  '.tar': 'application/x-tar',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
}
const SHOWN = /^(?:image\/(?!svg)|audio\/|video\/|text\/plain|application\/pdf)/
/** Also of a page that a browser shows although it was told to save it. */
const CONTENT_POLICY = `sandbox; default-src 'none'`

export function contentHeaders(path: string): Readonly<Record<string, string>> {
  const type = TYPES[posix.extname(path).toLowerCase()] ?? 'application/octet-stream'
  const name = posix.basename(path)
  return {
    'content-type': type,
    'content-disposition': `${SHOWN.test(type) ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeURIComponent(name)}`,
    'content-security-policy': CONTENT_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
}
