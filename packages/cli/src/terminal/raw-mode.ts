/**
 * The terminal of this machine as a plain pipe: every key as it is pressed, every byte of output as it comes.
 */
import { spawnSync } from 'node:child_process'

/** Node's own raw mode still turns `\n` into `\r\n`, which moves the cursor of programs that mean only "down". */
export function setRaw(isRaw: boolean): void {
  const { stdin } = process
  if (!stdin.isTTY) return
  stdin.setRawMode(isRaw)
  // Where there is no such program the picture may suffer, and nothing else. Leaving raw mode undoes it.
  if (isRaw) spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
}
