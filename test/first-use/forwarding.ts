/**
 * A way from the test engine's bridge to the networks of this machine, which the engine does not make by itself. Root only.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { bridgeSubnet } from '../environment/engine-api.ts'
import { findProgram, run } from '../environment/program.ts'

const FORWARD = '/proc/sys/net/ipv4/ip_forward'

/** Returns what takes it back. */
export async function forwardBridge(socketPath: string): Promise<() => Promise<void>> {
  const iptables = findProgram('iptables')
  if (iptables === null) throw new Error('iptables is not installed')
  const subnet = await bridgeSubnet(socketPath)
  const rule = ['POSTROUTING', '-s', subnet, '!', '-d', subnet, '-j', 'MASQUERADE']
  const before = readFileSync(FORWARD, 'utf8')
  await run(iptables, ['-t', 'nat', '-A', ...rule])
  writeFileSync(FORWARD, '1')
  return async () => {
    writeFileSync(FORWARD, before)
    await run(iptables, ['-t', 'nat', '-D', ...rule])
  }
}
