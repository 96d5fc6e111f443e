/**
 * Whether a path is a directory or lies in it, as both are written.
 */
export function isWithin(path: string, root: string): boolean {
  return path === root || root === '/' || path.startsWith(`${root}/`)
}
