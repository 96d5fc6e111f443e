/** Node's error codes (`ENOENT`, …), asked without trusting the shape of what was thrown. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
}
