/**
 * The server's clock: the wall clock, but a jump of more than an hour is not followed before somebody confirms it or an hour has passed.
 *
 * Deadlines are wall-clock times. A wall clock that jumps by days would expire sessions with their files, records and events at once. Until
 * the jump is accepted, the clock goes on from the time before it, so deadlines keep their distance and nothing written carries a wrong time.
 * A reference in the home tells a jump during a restart from a downtime. Why: docs/adr/0027-clock-jumps.md
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { errorText } from '../telemetry/log.ts'
import type { Log } from '../telemetry/log.ts'

const JUMP_MS = 3_600_000
const HOLD_MS = 3_600_000
const SAVE_EVERY_MS = 60_000

export interface ClockJump {
  /** How far the wall clock is ahead of this clock; negative when it is behind. */
  readonly byMs: number
  /** When the jump is followed without a confirmation, in the time of this clock. */
  readonly followedAt: number
}

export interface SteadyClock {
  readonly now: () => number
  /** What the wall clock says. */
  readonly wall: () => number
  /** The jump that waits for a confirmation. */
  jump(): ClockJump | null
  /** Follows the wall clock at once; `false` when there was no jump. */
  confirm(): boolean
  close(): void
}

/** The clocks of the machine, in milliseconds. */
export interface MachineClocks {
  wall(): number
  /** Stands still while the machine is suspended. */
  monotonic(): number
  /** Since the machine started, with the time it was suspended. */
  sinceBoot(): number
  /** Differs after each start of the machine; `null` when it cannot be read. */
  bootId(): string | null
}

const REAL_CLOCKS: MachineClocks = {
  wall: Date.now,
  monotonic: () => performance.now(),
  sinceBoot: () => uptime() * 1000,
  bootId: readBootId,
}

const Reference = z.object({ boot_id: z.string().nullable(), wall: z.number(), since_boot: z.number() })
type Reference = z.output<typeof Reference>

export interface SteadyClockNeeds {
  readonly home: string
  readonly log: Log
  readonly clocks?: MachineClocks
}

export function openSteadyClock({ home, log, clocks = REAL_CLOCKS }: SteadyClockNeeds): SteadyClock {
  const path = join(home, 'clock.json')
  const bootId = clocks.bootId()
  let reference: Reference = { boot_id: bootId, wall: expectedAtStart(readReference(path), clocks, bootId), since_boot: clocks.sinceBoot() }
  /** This clock's time is `base` plus the monotonic clock's. */
  let base = reference.wall - clocks.monotonic()
  let jump: ClockJump | null = null

  function now(): number {
    const wall = clocks.wall()
    const steady = Math.round(base + clocks.monotonic())
    const driftMs = wall - steady
    return Math.abs(driftMs) <= JUMP_MS ? follow(wall, 'the wall clock is back') : hold(wall, steady, driftMs)
  }

  function follow(wall: number, reason: string): number {
    base = wall - clocks.monotonic()
    if (jump !== null) log.warn('clock-jump-over', { reason, by_seconds: Math.round(jump.byMs / 1000) })
    jump = null
    return wall
  }

  function hold(wall: number, steady: number, driftMs: number): number {
    if (jump === null && wasSuspended(wall)) return follow(wall, '')
    if (jump === null || Math.abs(driftMs - jump.byMs) > JUMP_MS) {
      jump = { byMs: driftMs, followedAt: steady + HOLD_MS }
      log.error('clock-jumped', {
        by_seconds: Math.round(driftMs / 1000),
        followed_at: new Date(jump.followedAt).toISOString(),
        hint: 'nothing expires by the new time; set the clock right, or run `holdfast clock confirm`',
      })
    }
    if (steady < jump.followedAt) return steady
    follow(wall, 'an hour has passed')
    save()
    return wall
  }

  /** A machine that slept: its time since boot went on with the wall clock. */
  function wasSuspended(wall: number): boolean {
    return Math.abs(wall - (reference.wall + clocks.sinceBoot() - reference.since_boot)) <= JUMP_MS
  }

  /** Never a time that is not accepted: a restart must not confirm a jump. */
  function save(): void {
    reference = { boot_id: bootId, wall: now(), since_boot: clocks.sinceBoot() }
    try {
      writeFileSync(`${path}.new`, JSON.stringify(reference), { mode: 0o600 })
      renameSync(`${path}.new`, path)
    } catch (error) {
      log.warn('clock-reference-not-saved', { error: errorText(error) })
    }
  }

  save()
  const timer = setInterval(save, SAVE_EVERY_MS)
  timer.unref()
  return {
    now,
    wall: clocks.wall,
    jump() {
      now()
      return jump
    },
    confirm() {
      now()
      if (jump === null) return false
      follow(clocks.wall(), 'an operator confirmed it')
      save()
      return true
    },
    close() {
      clearInterval(timer)
      save()
    },
  }
}

/** What the time should be: known exactly within one boot; after another boot only that it is not earlier than before. */
function expectedAtStart(last: Reference | null, clocks: MachineClocks, bootId: string | null): number {
  if (last === null) return clocks.wall()
  if (last.boot_id !== null && last.boot_id === bootId) return last.wall + clocks.sinceBoot() - last.since_boot
  return Math.max(clocks.wall(), last.wall)
}

/** A reference that is missing or cannot be read is none: the wall clock is believed. */
function readReference(path: string): Reference | null {
  try {
    return Reference.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return null
  }
}

function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return null
  }
}
