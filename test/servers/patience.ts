/**
 * How long tests wait for what follows by itself. The tests' own config and `eventually` share it; nothing that passes takes so long.
 */
export const PATIENCE_MS = 120_000
