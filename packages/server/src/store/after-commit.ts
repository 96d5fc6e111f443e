/**
 * Runs what a transaction wanted done once it is kept.
 *
 * Stands beside the flow.
 */

/** In order. What throws is a bug that ends the process: the change is kept already, so it must not look like a failed one. */
export function performAll(actions: readonly (() => void)[]): void {
  for (const action of actions) {
    try {
      action()
    } catch (error) {
      setImmediate(() => {
        throw error
      })
    }
  }
}
