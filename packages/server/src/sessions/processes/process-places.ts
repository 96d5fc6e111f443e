/**
 * Up to where the output of a process was taken, so that a server that starts again goes on there.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 *
 * A place that was lost makes lines come twice, never not at all.
 */
export interface ProcessPlaces {
  writePlace(sessionId: string, name: string, place: { readonly executionId: string; readonly seq: number }): Promise<void>
  /** 0 when nothing of this execution was taken. */
  readPlace(sessionId: string, name: string, executionId: string): Promise<number>
}
