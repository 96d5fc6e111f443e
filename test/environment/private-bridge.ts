/**
 * A network bridge for the test engines alone, so that "network on" can be tested without touching the machine's firewall.
 *
 * Containers on it reach this machine's addresses and nothing beyond: no forwarding, no address translation.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { randomInt } from 'node:crypto'
import { findProgram, run } from './program.ts'

export interface PrivateBridge {
  readonly name: string
  /** `10.213.7.1/24`: this machine's address on it. */
  readonly address: string
  readonly subnet: string
}

/** `null` where this user may not make one, or the program `ip` is missing. */
export async function createBridge(directory: string, prefix: string): Promise<PrivateBridge | null> {
  const ip = findProgram('ip')
  if (ip === null || process.getuid?.() !== 0) return null
  const third = freeSubnet()
  const bridge = { name: `${prefix}${process.pid}`, address: `10.213.${third}.1/24`, subnet: `10.213.${third}.0/24` }
  // Noted before it exists: a run killed in between leaves a note too many, never a bridge too many.
  appendFileSync(join(directory, 'bridges'), `${bridge.name}\n`)
  try {
    await run(ip, ['link', 'add', bridge.name, 'type', 'bridge'])
    await run(ip, ['addr', 'add', bridge.address, 'dev', bridge.name])
    await run(ip, ['link', 'set', bridge.name, 'up'])
    return bridge
  } catch {
    return null // a kernel without bridges, or without the right to make one: the engines then run without
  }
}

export async function removeBridges(directory: string): Promise<void> {
  const path = join(directory, 'bridges')
  if (!existsSync(path)) return
  const names = readFileSync(path, 'utf8').split('\n')
  for (const name of names.filter(exists)) await removeBridge(name)
}

async function removeBridge(name: string): Promise<void> {
  try {
    await run(findProgram('ip') ?? 'ip', ['link', 'delete', name])
  } catch (error) {
    if (exists(name)) throw error // else another run cleaned up at the same time
  }
}

function exists(bridge: string): boolean {
  return bridge !== '' && existsSync(`/sys/class/net/${bridge}`)
}

function freeSubnet(): number {
  const taken = Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address))
  for (;;) {
    const third = randomInt(1, 255)
    if (!taken.includes(`10.213.${third}.1`)) return third
  }
}
