/**
 * The backend as a server has it that is not root: started as another account by `not-root.contract.test.ts`, makes two sandboxes, prints
 * their names, and destroys them when its input ends. They have users of their own where the account has subordinate ids.
 */
import { once } from 'node:events'
import { hostUsersOf } from '../../host-users.ts'
import { findSubordinateIds } from '../../subordinate-ids.ts'
import { bubblewrapBackend } from './bubblewrap-backend.ts'

const [stateDir = '', guestPath = '', launcherPath = '', attacks = ''] = process.argv.slice(2)
const backend = bubblewrapBackend({ serverId: 'notroot', stateDir, guestPath, launcherPath })
const found = await findSubordinateIds({ guestPath, launcherPath })
const names = ['sbx_0000000000000001', 'sbx_0000000000000002']
try {
  for (const name of names)
    await backend.create(name, {
      ...{ image: null, network: 'off', rootfs: 'read-only' },
      mounts: [{ source: attacks, target: '/mnt/attacks', mode: 'ro', ...('problem' in found ? {} : { isOwn: true }) }],
      limits: { cpus: null, memoryBytes: null, pids: null, tmpBytes: 16 * 1024 * 1024, openFiles: 256 },
      ...('problem' in found ? {} : { users: hostUsersOf(found.range, name) }),
    })
  console.log(JSON.stringify(names))
  process.stdin.resume()
  await once(process.stdin, 'end')
} finally {
  for (const name of names) await backend.destroy(name)
}
