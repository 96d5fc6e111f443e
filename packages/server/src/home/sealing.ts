/**
 * Secrets at rest: sealed with a key that is not in the database, so that a copy of the database gives none away.
 *
 * AES-256-GCM with a fresh nonce each time. What is sealed is bound to a context (what it is the secret of), so that a
 * sealed value moved to another row does not open there. The key is a file in the home; servers that share a database
 * must share the key.
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
  /** Throws `config_invalid` when it was sealed with another key or for another context, or was changed. */
  open(sealed: Uint8Array, context: string): Uint8Array
}

export function createSealing(key: Uint8Array): Sealing {
  if (key.length !== KEY_BYTES) throw new HoldfastError('config_invalid', `a sealing key has ${KEY_BYTES} bytes, not ${key.length}`)
  return {
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context))
      return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, context) {
      try {
        if (sealed[0] !== FORMAT || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) throw new RangeError('not a sealed value')
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      } catch (cause) {
        throw new HoldfastError('config_invalid', `the stored secret of ${context} does not open with this server's key`, {}, { cause })
      }
    },
  }
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

function readKey(path: string): Uint8Array {
  const text = readFileSync(path, 'utf8').trim()
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new HoldfastError('config_invalid', `${path} does not hold a key; without the right one, stored secrets are lost`, { path })
  return Buffer.from(text, 'hex')
}
