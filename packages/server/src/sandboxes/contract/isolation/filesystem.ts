/**
 * Isolation, filesystem: nothing of the host is read or written but what was mounted.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import { chownSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { outcomeOf, shell } from '../outcome.ts'
import { NotHere } from '../subject.ts'
import type { Proofs } from '../subject.ts'
import { attack, holds } from './attack-program.ts'
import type { Ground } from './ground.ts'

/** Everything that may be written inside, by design: bounded memory, the workspace, the kernel's message queues. */
const WRITABLE = ['/tmp', '/home/user', '/workspace', '/dev/shm', '/dev/mqueue', '/run', '/var/tmp']

async function forEachSecret(ground: Ground, attempt: (path: string, text: string) => Promise<unknown>): Promise<void> {
  for (const path of ground.secretPaths) await attempt(path, ground.secretText)
}

function changingMounts(way: string): (ground: Ground) => Promise<void> {
  return async ({ attacked }) => {
    await holds(attacked.inside, 'change-mounts', way)
  }
}

export const FILESYSTEM: Proofs<Ground> = {
  'read a host file by its absolute path': (ground) =>
    forEachSecret(ground, async (path, text) => {
      await holds(ground.attacked.inside, 'read', path, text)
      expect(await outcomeOf(() => ground.attacked.inside.files.read(path))).toBe('file_operation_failed')
    }),

  'read a host file through the root of the first process': (ground) =>
    forEachSecret(ground, (path, text) => holds(ground.attacked.inside, 'read', `/proc/1/root${path}`, text)),

  'read a host file through the root, directory or descriptors of any process': (ground) =>
    forEachSecret(ground, (path, text) => holds(ground.attacked.inside, 'read-through-proc', path, text)),

  'climb out of a mount by its parent directories': (ground) =>
    forEachSecret(ground, async (path, text) => {
      for (const start of ['/workspace', '/mnt/read-only', '/mnt/attacks', '/proc/self/cwd', '/tmp']) {
        await holds(ground.attacked.inside, 'climb', start, path, text)
      }
      const climbing = `/workspace/${'../'.repeat(32)}${path.slice(1)}`
      expect(await outcomeOf(() => ground.attacked.inside.files.read(climbing))).toBe('file_operation_failed')
    }),

  'read a host file through a symlink planted from inside': (ground) =>
    forEachSecret(ground, async (path, text) => {
      const { inside } = ground.attacked
      const link = `/workspace/link-${crypto.randomUUID()}`
      await holds(inside, 'plant-symlink', path, link)
      await holds(inside, 'read', link, text)
      for (const operation of [
        () => inside.files.read(link),
        () => inside.files.stat(link, { follow: true }),
        () => inside.files.list(link),
      ]) {
        expect(await outcomeOf(operation)).toBe('file_operation_failed')
      }
      // Writing through the link may make a file inside; it must not touch the host's.
      await outcomeOf(() => inside.files.write(link, 'overwritten'))
      expect(readFileSync(path, 'utf8')).toBe(text)
    }),

  'read a host file through a symlink planted by the host': (ground) =>
    forEachSecret(ground, async (path, text) => {
      const name = `host-link-${crypto.randomUUID()}`
      symlinkSync(path, join(ground.workspace, name))
      await holds(ground.attacked.inside, 'read', `/workspace/${name}`, text)
      expect(await outcomeOf(() => ground.attacked.inside.files.read(`/workspace/${name}`))).toBe('file_operation_failed')
    }),

  'find a host file by searching everything': async (ground) => {
    const { inside } = ground.attacked
    await inside.files.write('/workspace/bait', ground.secretText)
    const found = await shell(inside, `grep -rslF '${ground.secretText}' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr || true`)
    expect(found).toBe('/workspace/bait')
  },

  'hard link a file of another mount into the workspace': async ({ attacked }) => {
    await holds(attacked.inside, 'hard-link', '/mnt/read-only/note', `/workspace/${crypto.randomUUID()}`)
    await holds(attacked.inside, 'hard-link', '/etc/passwd', `/workspace/${crypto.randomUUID()}`)
  },

  'open a file by a forged handle': async ({ attacked }) => {
    await holds(attacked.inside, 'open-by-handle', '/workspace')
    await holds(attacked.inside, 'open-by-handle', '/mnt/attacks')
  },

  'make a device node': async ({ attacked }) => {
    for (const place of ['/workspace', '/tmp', '/dev/shm']) await holds(attacked.inside, 'make-device', place)
  },

  'leave a set-user-ID file in a shared directory of root': async ({ laboratory, fresh }) => {
    const source = laboratory.hostDirectory(`shared-${crypto.randomUUID()}`)
    if (process.getuid?.() !== 0 || (await laboratory.backend.hostUsers?.mapsOwners?.(source)) !== true)
      throw new NotHere('this backend, server or file system cannot show files of one owner as those of another')
    chownSync(source, 0, 0)
    await fresh({ mounts: [{ source, target: '/workspace', mode: 'rw', owner: 0 }] }, async ({ inside }) => {
      await holds(inside, 'make-set-id', '/workspace/file')
      await inside.files.write('/workspace/script', '#!/bin/sh', { mode: 0o755 })
    })
    expect(statSync(join(source, 'script')).mode).toBe(0o100755)
  },

  'open a device of the host': async ({ attacked }) => {
    await holds(attacked.inside, 'open-devices')
  },

  'write anywhere but in the promised places': async ({ attacked }) => {
    await holds(attacked.inside, 'write-anywhere-but', ...WRITABLE)
  },

  'change a read-only mount': async (ground) => {
    await holds(ground.attacked.inside, 'change-read-only', '/mnt/read-only', '/mnt/read-only/note')
    expect(await outcomeOf(() => ground.attacked.inside.files.write('/mnt/read-only/note', 'changed'))).toBe('file_operation_failed')
    expect(await outcomeOf(() => ground.attacked.inside.files.remove('/mnt/read-only/note'))).toBe('file_operation_failed')
    expect(readFileSync(join(ground.laboratory.directory, 'read-only/note'), 'utf8')).toBe('not to be changed')
  },

  'the root is mounted read-only, not merely owned by another': async ({ attacked }) => {
    const { stdout } = await attack(attacked.inside, 'show', '/proc/self/mounts')
    const root = stdout.split('\n').findLast((line) => line.split(' ')[1] === '/')
    expect(root?.split(' ')[3]?.split(',')).toContain('ro')
  },

  'mount a file system': changingMounts('mount'),
  'bind the root elsewhere': changingMounts('bind'),
  'remount the root writable': changingMounts('remount'),
  'move a mount': changingMounts('move'),
  'share the mounts with the host again': changingMounts('propagate'),
  'unmount what hides something': changingMounts('unmount'),
  'pivot to another root': changingMounts('pivot_root'),
  'chroot to another root': changingMounts('chroot'),
  'open a new file system': changingMounts('fsopen'),
  'clone the mount tree': changingMounts('open_tree'),
  'clear the read-only flag of a mount': changingMounts('mount_setattr'),

  'change a kernel setting below /proc/sys': async ({ attacked }) => {
    await holds(attacked.inside, 'change-kernel-settings', '/proc/sys')
  },
  'change a kernel setting below /sys': async ({ attacked }) => {
    await holds(attacked.inside, 'change-kernel-settings', '/sys')
  },
  'read kernel memory or pull the emergency brake': async ({ attacked }) => {
    await holds(attacked.inside, 'open-kernel-memory')
  },
  'read the log of the host kernel': async ({ attacked }) => {
    await holds(attacked.inside, 'read-kernel-log')
  },
}
