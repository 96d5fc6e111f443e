/**
 * A body that is bytes: declared in a row of the route table, handed over as it comes, never held.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */

export class ByteContent {
  readonly mediaTypes: readonly string[]

  /** The kinds of bytes, for the document; what is sent is not looked at. */
  constructor(...mediaTypes: readonly string[]) {
    this.mediaTypes = mediaTypes
  }
}
