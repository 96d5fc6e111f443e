/**
 * Limit for the kernel's TCP and UDP buffers where the memory limit does not count them: cgroup version 1 has a limit of its own.
 */

/** A quarter of the memory limit: few connections then hold no more than a quarter beyond it. */
export function tcpBufferBytes(memoryBytes: number): number {
  return Math.floor(memoryBytes / 4)
}
