/**
 * Secrets at rest: sealed with a key that is not in the database, so that a copy of the database gives none away.
 *
 * AES-256-GCM with a fresh nonce each time. What is sealed is bound to a context (what it is the secret of), so that a
 * sealed value moved to another row does not open there. The key is a file in the home; servers that share a database
 * must share the key. After a rotation the earlier keys still open what they sealed; new values are sealed with the current key only.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '@holdfast/protocol'
import { hasErrorCode } from './error-code.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** First byte of what is sealed: another way of sealing gets another number. */
const FORMAT = 1

export interface Sealing {
  seal(plain: Uint8Array, context: string): Uint8Array
  /** Throws `config_invalid` when it was sealed with an unknown key or for another context, or was changed. */
  open(sealed: Uint8Array, context: string): Uint8Array
  /** The same secret under the current key; `null` when it is under that key already. Throws as `open` does. */
  reseal(sealed: Uint8Array, context: string): Uint8Array | null
}

/** `earlier`: keys from before rotations of the key. */
export function createSealing(key: Uint8Array, earlier: readonly Uint8Array[] = []): Sealing {
  const keys = [key, ...earlier]
  for (const { length } of keys)
    if (length !== KEY_BYTES) throw new HoldfastError('config_invalid', `a sealing key has ${KEY_BYTES} bytes, not ${length}`)

  function seal(plain: Uint8Array, context: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context))
    return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  function openFirst(sealed: Uint8Array, context: string): { readonly plain: Uint8Array; readonly key: Uint8Array } {
    let problem: unknown
    for (const candidate of keys) {
      try {
        return { plain: openWith(candidate, sealed, context), key: candidate }
      } catch (cause) {
        problem ??= cause
      }
    }
    throw new HoldfastError(
      'config_invalid',
      `the stored secret of ${context} does not open with this server's key`,
      {},
      { cause: problem },
    )
  }

  return {
    seal,
    open: (sealed, context) => openFirst(sealed, context).plain,
    reseal(sealed, context) {
      const opened = openFirst(sealed, context)
      return opened.key === key ? null : seal(opened.plain, context)
    },
  }
}

function openWith(key: Uint8Array, sealed: Uint8Array, context: string): Uint8Array {
  if (sealed[0] !== FORMAT || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new RangeError('not a sealed value')
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES)), decipher.final()])
}

/** The key of this home, made on first use; only the owner may read it. */
export function readOrMakeSealingKey(home: string): Uint8Array {
  const path = join(home, 'secret.key')
  const draft = `${path}.${process.pid}`
  try {
    return readKey(path)
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error
  }
  try {
    writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600 })
    // Linked into place: a crash never leaves half a key, and of two that start at once one wins and both read its key.
    linkSync(draft, path)
  } catch (error) {
    if (!hasErrorCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readKey(path)
}

/** Keys from before rotations: one per line, the latest first. An operator moves `secret.key` here; see docs/operate.md. */
export function readEarlierSealingKeys(home: string): readonly Uint8Array[] {
  const path = join(home, 'secret.key.previous')
  try {
    return keysIn(readFileSync(path, 'utf8'), path)
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return []
    throw error
  }
}

function keysIn(text: string, path: string): readonly Uint8Array[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => keyOf(line, path))
}

function readKey(path: string): Uint8Array {
  return keyOf(readFileSync(path, 'utf8'), path)
}

function keyOf(text: string, path: string): Uint8Array {
  const digits = text.trim()
  if (!/^[0-9a-f]{64}$/.test(digits))
    throw new HoldfastError('config_invalid', `${path} does not hold a key; without the right one, stored secrets are lost`, { path })
  return Buffer.from(digits, 'hex')
}
