/**
 * Lifecycle, writable root: `rootfs: writable` lets the sandbox's user change `/usr`, `/opt` and `/var`, for as long as the sandbox lives.
 */
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { rootLayerPath } from '../../root-layer.ts'
import { askEngine, imageAfter } from '../engine-facts.ts'
import type { Laboratory } from '../laboratory.ts'
import { outcomeOf, shell } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'

/** As the kernel lists it: the launcher stages its lower directories below `/mnt`, in a mount namespace of its own. */
const OVERLAY_OF_LAUNCHER = /lowerdir=\/mnt\/\S*upperdir=\/proc\/self\/fd\//

function needing({ capabilities }: Laboratory): void {
  if (!capabilities.writableRoot) throw new NotHere(capabilities.reasons.writableRoot ?? 'no writable root here')
}

export const WRITABLE_ROOT: Proofs<Laboratory> = {
  'a writable root can be written below /usr, /opt and /var by the sandbox user': async (laboratory) => {
    needing(laboratory)
    const { inside } = await laboratory.create({ rootfs: 'writable' })
    for (const place of ['/usr', '/usr/bin', '/usr/lib', '/usr/local/bin', '/opt', '/var', '/var/lib', '/var/cache', '/var/log'])
      expect(
        await shell(inside, `mkdir -p ${place}/made/deep && echo x > ${place}/made/deep/file && cat ${place}/made/deep/file`),
        place,
      ).toBe('x')
    expect(await shell(inside, 'stat -c %u /usr /usr/bin /opt /var /var/lib/made | sort -u')).toBe(await shell(inside, 'id -u'))
    const options = await shell(inside, `awk '$2 ~ "^/(usr|opt|var)$" { print $2, $4 }' /proc/self/mounts`)
    for (const place of ['/usr', '/opt', '/var']) expect(options).toMatch(new RegExp(`^${place} rw,nosuid,nodev`, 'm'))
    expect(await shell(inside, 'printf "#!/bin/sh\\necho mine" > /usr/local/bin/mine && chmod +x /usr/local/bin/mine && mine')).toBe('mine')
  },

  'a file of the system can be changed and removed in a writable root, and the host keeps its own': async (laboratory) => {
    needing(laboratory)
    const [kept, neighbour] = await Promise.all([laboratory.create({ rootfs: 'writable' }), laboratory.create({ rootfs: 'writable' })])
    const before = existsSync('/usr/bin/env') ? readFileSync('/usr/bin/env').length : 0
    await shell(kept.inside, 'echo changed >> /usr/bin/env && rm /usr/bin/cut && ! test -e /usr/bin/cut')
    expect(await shell(neighbour.inside, 'test -e /usr/bin/cut && ! tail -c 8 /usr/bin/env | grep changed')).toBe('')
    if (before > 0) expect(readFileSync('/usr/bin/env').length).toBe(before)
    expect(existsSync('/usr/bin/cut')).toBe(true)
  },

  'changes of a writable root are on disk while the sandbox lives, and end with it': async (laboratory) => {
    needing(laboratory)
    const { name, inside } = await laboratory.create({ rootfs: 'writable' })
    await shell(
      inside,
      'head -c 1000000 /dev/urandom > /usr/lib/large; cd /var && for i in $(seq 300); do mkdir d && cd d || exit 1; done; echo end > end',
    )
    expect(existsSync(rootLayerPath(laboratory.needs.stateDir, name))).toBe(true)
    expect(await shell(inside, 'cat /proc/self/mountinfo')).toMatch(OVERLAY_OF_LAUNCHER)
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toMatch(OVERLAY_OF_LAUNCHER)
    // By name alone, as after a crash.
    await laboratory.reopen().destroy(name)
    expect(existsSync(join(laboratory.needs.stateDir, 'sandboxes', name))).toBe(false)
  },

  'a mount may lie below a directory of a writable root': async (laboratory) => {
    needing(laboratory)
    const source = laboratory.hostDirectory('artifacts')
    writeFileSync(join(source, 'note'), 'shown')
    const mounts = [{ source, target: '/opt/artifacts/one', mode: 'ro' as const }]
    const { inside } = await laboratory.create({ rootfs: 'writable', mounts })
    expect(await shell(inside, 'cat /opt/artifacts/one/note; echo x > /opt/beside; cat /opt/beside')).toBe('shownx')
    expect(await outcomeOf(() => inside.files.write('/opt/artifacts/one/made', 'no'))).toBe('file_operation_failed')
  },

  'a link of the image never leads a mount elsewhere': async (laboratory) => {
    needing(laboratory)
    const { engineSocket, image } = laboratory.subject
    if (engineSocket === null || image === null) throw new Error('this proof needs an engine')
    const hostile = await imageAfter(engineSocket, image, 'rm -rf /opt && ln -s /tmp /opt && mkdir -p /srv && ln -s ../tmp /srv/link')
    const source = laboratory.hostDirectory('shared')
    chownSync(source, 0, 0)
    try {
      expect(await outcomeOf(() => laboratory.create({ image: hostile, rootfs: 'writable' }))).toBe('mount_refused')
      // The engine follows the link within the container; the launcher does not.
      const mounts = [{ source, target: '/srv/link/shared', mode: 'rw' as const, owner: 0 }]
      expect(await outcomeOf(() => laboratory.create({ image: hostile, mounts }))).toBe('mount_refused')
      expect(await laboratory.traces()).toEqual([])
    } finally {
      await askEngine(engineSocket, 'DELETE', `/images/${hostile}?force=1`)
    }
  },

  'a read-only root stays as it is': async (laboratory) => {
    const { inside } = await laboratory.create({ rootfs: 'read-only' })
    for (const place of ['/usr', '/opt', '/var', '/etc'])
      expect(await shell(inside, `mkdir ${place}/made 2>/dev/null || echo refused`), place).toBe('refused')
  },
}
