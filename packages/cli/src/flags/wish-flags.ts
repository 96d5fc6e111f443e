/**
 * What a new session is to be: its sandbox and its times.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { SandboxWish, SessionTimes } from '@holdfast/sdk'
import { byteSizeOrNone, decimalOrNone, duration, durationOrNone, orNull, wholeNumberOrNone } from './parse.ts'
import type { OrNone } from './parse.ts'

export interface SandboxWishFlags {
  readonly profile?: string
  readonly pipeline?: string
  readonly image?: string
  readonly network?: 'on' | 'off'
  readonly home?: 'persistent' | 'ephemeral'
  readonly memory?: OrNone
  readonly cpus?: OrNone
  readonly pids?: OrNone
}

export interface TimesFlags {
  readonly onIdle?: 'suspend' | 'release'
  readonly idle?: number
  readonly lease?: OrNone
  readonly lifetime?: OrNone
  readonly retention?: number
}

export function withSandboxWish(command: Command): Command {
  return command
    .optionsGroup('Its sandbox, if it is made now:')
    .option('--profile <name>', 'a named set of values for what is left out; see profiles')
    .option('--pipeline <name>', 'a configured pipeline: its scope, profile and skills, where none are named')
    .option('--image <name>', 'image of the container backends')
    .addOption(new Option('--network <on|off>', 'network of the sandbox').choices(['on', 'off']))
    .addOption(new Option('--home <kind>', 'whether /home/user is kept with the session').choices(['persistent', 'ephemeral']))
    .option('--memory <size>', 'memory, such as 512m or 2g, or none', byteSizeOrNone)
    .option('--cpus <number>', 'processors, such as 0.5, or none', decimalOrNone)
    .option('--pids <number>', 'processes, or none', wholeNumberOrNone)
}

/** Only what was given, since a session that exists refuses what it is not. */
export function sandboxWish({ profile, pipeline, image, network, home, memory, cpus, pids }: SandboxWishFlags): SandboxWish {
  const hasLimits = memory !== undefined || cpus !== undefined || pids !== undefined
  const limits = hasLimits ? { limits: { memoryBytes: orNull(memory), cpus: orNull(cpus), pids: orNull(pids) } } : {}
  return { profile, pipeline, image, network, home, ...limits }
}

export function withTimes(command: Command): Command {
  return command
    .optionsGroup('Its times, such as 90s, 30m, 2h or 7d:')
    .addOption(new Option('--on-idle <what>', 'what happens to it after a time without work').choices(['suspend', 'release']))
    .option('--idle <time>', 'that time', duration)
    .option('--lease <time>', 'it ends unless it is refreshed within this time; none', durationOrNone)
    .option('--lifetime <time>', 'it ends after this time whatever happens; none', durationOrNone)
    .option('--retention <time>', 'how long a suspended one is kept', duration)
}

export function timesWish({ onIdle, idle, lease, lifetime, retention }: TimesFlags): SessionTimes | undefined {
  if ([onIdle, idle, lease, lifetime, retention].every((wish) => wish === undefined)) return undefined
  return { onIdle, idleSeconds: idle, leaseSeconds: orNull(lease), lifetimeSeconds: orNull(lifetime), retentionSeconds: retention }
}
