/**
 * The inside of a local sandbox: one connection to its guest, as the server sees it.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 *
 * Reads like a table of contents of this folder; each part stands in its own file.
 */
import type { Duplex } from 'node:stream'
import { connectChannel } from './channel.ts'
import type { ChannelOptions } from './channel.ts'
import { exec } from './exec.ts'
import { guestFiles } from './files.ts'
import type { Inside } from './inside.ts'
import { connectPort } from './ports.ts'
import { guestProcesses } from './processes.ts'
import { readStats } from './stats.ts'

export interface ConnectOptions extends ChannelOptions {
  /** The disk that `stats` reports on. */
  readonly statsPath?: string
}

/** Takes the duplex over: whatever happens, it is ended when the inside is. Rejects when the guest does not greet properly. */
export async function connectInside(duplex: Duplex, options: ConnectOptions = {}): Promise<Inside> {
  const channel = await connectChannel(duplex, options)
  return {
    bootId: channel.bootId,
    closed: channel.closed,
    exec: (request, signal) => exec(channel, request, signal),
    pty: ({ size, ...request }, signal) => exec(channel, { ...request, pty: size }, signal),
    processes: guestProcesses(channel),
    files: guestFiles(channel),
    connect: (port, signal) => connectPort(channel, port, signal),
    stats: ({ uid, path = options.statsPath ?? '/' } = {}) => readStats(channel, path, uid),
    ping: (signal) => channel.ping(signal),
    close: () => channel.close(),
  }
}
