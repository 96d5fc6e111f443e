/**
 * The steps of the histograms, in seconds.
 *
 * Stands beside the flow.
 */

/** What a caller waits for: from a warm command to a slow image. */
export const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** How long programs run. */
export const RUN_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600]

/** Transactions of a database that is near. */
export const TRANSACTION_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]
