/** Lifecycle, home: the sandbox's user owns a home on disk, and finds it in the next sandbox as it was left. */
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { sandboxUserOnHost } from '../../sandbox-user.ts'
import type { Mount } from '../../spec.ts'
import type { Laboratory, Wish } from '../laboratory.ts'
import { shell } from '../outcome.ts'
import type { Proofs } from '../subject.ts'

/** A home as a server makes it. */
function homeOf(laboratory: Laboratory): Wish & { readonly mounts: readonly Mount[] } {
  const source = join(laboratory.needs.stateDir, 'home')
  mkdirSync(source, { mode: 0o700 })
  const users = laboratory.newUsers()
  const { uid, gid } = users === undefined ? sandboxUserOnHost() : { uid: users.commands, gid: users.commands }
  if (process.getuid?.() === 0) chownSync(source, uid, gid)
  const mounts = [{ source, target: '/home/user', mode: 'rw', isOwn: true }] as const
  return { mounts, ...(users === undefined || process.getuid?.() !== 0 ? {} : { users }) }
}

export const HOME: Proofs<Laboratory> = {
  'a home on disk belongs to the user, runs programs and is found again by the next sandbox': async (laboratory) => {
    const wish = homeOf(laboratory)
    const { inside, name } = await laboratory.create(wish)
    const install = 'mkdir -p ~/.local/bin && printf "#!/bin/sh\\necho kept\\n" > ~/.local/bin/tool && chmod +x ~/.local/bin/tool'
    expect(await shell(inside, `${install} && test -O ~ && tool`)).toBe('kept')
    expect(await shell(inside, 'echo $HOME; cd && pwd')).toBe('/home/user\n/home/user')
    inside.close()
    await laboratory.backend.destroy(name)
    const again = await laboratory.create(wish)
    expect(await shell(again.inside, 'tool; touch ~/.local/bin/more && echo written')).toBe('kept\nwritten')
  },

  'a link that a program left in its home leads to nothing of the host': async (laboratory) => {
    const wish = homeOf(laboratory)
    const { inside, name } = await laboratory.create(wish)
    await shell(inside, `ln -s ${laboratory.needs.stateDir} ~/out`)
    inside.close()
    await laboratory.backend.destroy(name)
    const again = await laboratory.create(wish)
    expect(await shell(again.inside, 'ls ~/out/ 2>/dev/null || echo nothing')).toBe('nothing')
  },
}
