/**
 * The label of a link: the name of a host that only this server can have made up.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 *
 * An id and a signature over it, in letters that a name of DNS may have. A label that was guessed is refused before anything is looked up.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
/** Of five bits each: 130. */
const SIGNATURE_LETTERS = 26
const LABEL = /^([0-9a-z]{16})-([a-z2-7]{26})$/
const ID_PREFIX = 'lnk_'

export interface PreviewLabels {
  of(linkId: string): string
  /** The id of the link; `null` for a label that was not made here. */
  read(label: string): string | null
}

export function previewLabels(key: Uint8Array): PreviewLabels {
  function signed(id: string): string {
    const digest = createHmac('sha256', key).update(id).digest()
    return Array.from({ length: SIGNATURE_LETTERS }, (_, place) => ALPHABET.charAt(fiveBits(digest, place * 5))).join('')
  }
  return {
    of: (linkId) => `${linkId.slice(ID_PREFIX.length)}-${signed(linkId)}`,
    read(label) {
      const [, id = '', signature = ''] = LABEL.exec(label) ?? []
      const linkId = `${ID_PREFIX}${id}`
      const [given, right] = [Buffer.from(signature), Buffer.from(signed(linkId))]
      return given.length === right.length && timingSafeEqual(given, right) ? linkId : null
    },
  }
}

function fiveBits(bytes: Uint8Array, from: number): number {
  const [first = 0, second = 0] = bytes.subarray(from >> 3)
  return (((first << 8) | second) >> (11 - (from & 7))) & 31
}
