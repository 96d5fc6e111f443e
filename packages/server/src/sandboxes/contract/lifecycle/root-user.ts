/**
 * Lifecycle, `user: root`: commands are root of the sandbox's own user namespace, and an unprivileged user on the host.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Laboratory } from '../laboratory.ts'
import { outcomeOf, run, shell } from '../outcome.ts'
import type { Proofs } from '../subject.ts'
import { NotHere } from '../subject.ts'

const AS_ROOT = { user: 'root', rootfs: 'writable' } as const

function needing({ capabilities }: Laboratory): void {
  if (!capabilities.rootUser) throw new NotHere(capabilities.reasons.rootUser ?? 'no root inside here')
}

export const ROOT_USER: Proofs<Laboratory> = {
  'root of a sandbox is nobody in particular on the host': async (laboratory) => {
    needing(laboratory)
    const workspace = laboratory.hostDirectory('workspace')
    const users = laboratory.newRootUsers()
    const { inside } = await laboratory.create({
      ...AS_ROOT,
      users,
      mounts: [{ source: workspace, target: '/workspace', mode: 'rw', isOwn: true }],
    })
    expect(await shell(inside, 'id -u; id -g; echo made > /workspace/made')).toBe('0\n0')
    expect(statSync(join(workspace, 'made'))).toMatchObject({ uid: users?.commands, gid: users?.commands })
    expect(await shell(inside, 'chown 42:42 /workspace/made && stat -c %u /workspace/made')).toBe('42')
    expect(statSync(join(workspace, 'made')).uid).toBe((users?.system ?? 0) + 41)
  },

  'root of a sandbox writes to /usr, /opt, /var and /etc, and the host keeps its own': async (laboratory) => {
    needing(laboratory)
    const { inside } = await laboratory.create(AS_ROOT)
    for (const place of ['/usr', '/usr/bin', '/opt', '/var/lib', '/etc', '/home/user'])
      expect(await shell(inside, `mkdir -p ${place}/made && echo x > ${place}/made/file && cat ${place}/made/file`), place).toBe('x')
    await shell(inside, 'echo changed > /etc/passwd; rm -rf /usr/bin/env; ! test -e /usr/bin/env')
    expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('changed')
    for (const path of ['/usr/made', '/opt/made', '/var/lib/made', '/etc/made']) expect(existsSync(path), path).toBe(false)
  },

  'root of a sandbox keeps seven capabilities, gains no others, and cannot become the guest': async (laboratory) => {
    needing(laboratory)
    const { inside } = await laboratory.create(AS_ROOT)
    const status = await shell(inside, 'cat /proc/self/status')
    // CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID, NET_BIND_SERVICE.
    for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(status, set).toMatch(new RegExp(`^${set}:\\s00000000000004db$`, 'm'))
    expect(status).toMatch(/^NoNewPrivs:\s1$/m)
    expect(status).toMatch(/^Seccomp:\s2$/m)
    await expect(run(inside, { argv: ['id'], uid: 65_533 })).rejects.toThrow('commands never run as the guest')
    expect((await run(inside, ['/bin/sh', '-c', 'kill -9 1 2>&1; kill -TERM 1 2>&1; echo alive'])).stdout).toContain('alive')
    await inside.ping()
  },

  'user: root needs a writable root, and is refused before anything is made': async (laboratory) => {
    const spec = laboratory.spec({ user: 'root', rootfs: 'read-only' })
    expect(await outcomeOf(() => laboratory.backend.check(spec))).toBe('capability_unsupported')
  },
}
