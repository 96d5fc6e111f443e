/**
 * Isolation, network: with the network off nothing is reached, neither the world nor the host.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * With it on, the host's loopback still is the host's alone. The addresses are reserved for documentation, and the attack program asks for a route before it sends anything.
 */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { createSocket } from 'node:dgram'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'
import { lineFrom } from '../outcome.ts'
import { ATTACK, holds } from './attack-program.ts'
import type { Ground } from './ground.ts'

/** Listens while the attempt is made and says how many connections arrived. */
async function visitorsDuring(listen: (server: Server) => void, attempt: (port: string) => Promise<unknown>): Promise<number> {
  let visitors = 0
  const server = createServer((socket) => {
    visitors++
    socket.destroy()
  })
  listen(server)
  try {
    await once(server, 'listening')
    const address: AddressInfo | string | null = server.address()
    await attempt(typeof address === 'object' && address !== null ? String(address.port) : '')
    return visitors
  } finally {
    server.close()
  }
}

export const NETWORK: Proofs<Ground> = {
  'no interface but loopback is up': async ({ attacked }) => {
    await holds(attacked.inside, 'find-interface')
  },
  'connect to the internet over IPv4': async ({ attacked }) => {
    await holds(attacked.inside, 'connect-tcp', '192.0.2.1', '80')
  },
  'connect to the internet over IPv6': async ({ attacked }) => {
    await holds(attacked.inside, 'connect-tcp', '2001:db8::1', '80')
  },
  'send a datagram to the internet': async ({ attacked }) => {
    await holds(attacked.inside, 'send-udp', '192.0.2.1', '53')
    await holds(attacked.inside, 'send-udp', '2001:db8::1', '53')
  },
  'send to a broadcast or multicast address': async ({ attacked }) => {
    await holds(attacked.inside, 'send-udp', '224.0.0.251', '5353')
    await holds(attacked.inside, 'send-udp', 'ff02::fb', '5353')
  },
  'ask the cloud metadata service for credentials': async ({ attacked }) => {
    await holds(attacked.inside, 'connect-tcp', '169.254.169.254', '80')
    await holds(attacked.inside, 'connect-tcp', 'fd00:ec2::254', '80')
  },
  'connect to a server on the host loopback, IPv4': async ({ attacked }) => {
    const visitors = await visitorsDuring(
      (server) => server.listen(0, '127.0.0.1'),
      (port) => holds(attacked.inside, 'connect-tcp', '127.0.0.1', port),
    )
    expect(visitors).toBe(0)
  },
  'connect to a server on the host loopback, IPv6': async ({ attacked }) => {
    const visitors = await visitorsDuring(
      (server) => server.listen(0, '::1'),
      (port) => holds(attacked.inside, 'connect-tcp', '::1', port),
    )
    expect(visitors).toBe(0)
  },
  'send a datagram to the host loopback': async ({ attacked }) => {
    const listener = createSocket('udp4')
    listener.bind(0, '127.0.0.1')
    await once(listener, 'listening')
    const { port } = listener.address()
    const heard = once(listener, 'message')
    await holds(attacked.inside, 'send-udp', '127.0.0.1', String(port))
    // Ours comes after theirs would have: whichever is first tells.
    listener.send('ours', port, '127.0.0.1')
    const [message] = await heard
    listener.close()
    expect(String(message)).toBe('ours')
  },
  'connect to an abstract socket of the host': async ({ attacked }) => {
    const name = `holdfast-contract-${crypto.randomUUID()}`
    const visitors = await visitorsDuring(
      (server) => server.listen(`\0${name}`),
      () => holds(attacked.inside, 'connect-abstract', name),
    )
    expect(visitors).toBe(0)
  },
  'open a raw socket': async ({ attacked }) => {
    await holds(attacked.inside, 'open-socket', 'raw')
    await holds(attacked.inside, 'open-socket', 'raw6')
  },
  'open a packet socket': async ({ attacked }) => {
    await holds(attacked.inside, 'open-socket', 'packet')
  },
  'open a socket to the hypervisor': async ({ attacked }) => {
    await holds(attacked.inside, 'open-socket', 'vsock')
  },
  'reach the host loopback with the network on, directly or by the gateway': async ({ fresh, laboratory }) => {
    const { networkOn, reasons } = laboratory.capabilities
    if (!networkOn) throw new NotHere(reasons['networkOn'] ?? 'the network cannot be switched on here')
    await fresh({ network: 'on' }, async ({ inside }) => {
      const visitors = await visitorsDuring(
        (server) => server.listen(0, '127.0.0.1'),
        async (port) => {
          // In this order: a namespace shared with the host is found out here, before its real gateway would be asked.
          await holds(inside, 'connect-tcp', '127.0.0.1', port)
          await holds(inside, 'connect-gateway', port)
        },
      )
      expect(visitors).toBe(0)
    })
  },
  'reach an abstract socket of the host with the network on': async ({ fresh, laboratory }) => {
    const { networkOn, reasons } = laboratory.capabilities
    if (!networkOn) throw new NotHere(reasons['networkOn'] ?? 'the network cannot be switched on here')
    const name = `holdfast-contract-${crypto.randomUUID()}`
    await fresh({ network: 'on' }, async ({ inside }) => {
      const visitors = await visitorsDuring(
        (server) => server.listen(`\0${name}`),
        () => holds(inside, 'connect-abstract', name),
      )
      expect(visitors).toBe(0)
    })
  },
  'the server alone reaches a port inside, with the network off': async ({ attacked }) => {
    const execution = await attacked.inside.exec({ argv: [ATTACK, 'echo-server'] })
    const said = await lineFrom(execution.output, (line) => line.startsWith('held: '))
    const socket = await attacked.inside.connect(Number(said.slice('held: '.length)))
    socket.end(Buffer.alloc(300_000, 'x'))
    expect((await buffer(socket)).equals(Buffer.alloc(300_000, 'x'))).toBe(true)
  },
  'change the network interface': async ({ attacked }) => {
    await holds(attacked.inside, 'change-interface')
  },
}
