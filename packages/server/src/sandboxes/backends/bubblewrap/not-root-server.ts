/**
 * The backend as a server has it that is not root: started as another user by `not-root.contract.test.ts`, makes two sandboxes, prints their
 * names, and destroys them when its input ends.
 */
import { once } from 'node:events'
import { bubblewrapBackend } from './bubblewrap-backend.ts'

const [stateDir = '', guestPath = '', launcherPath = '', attacks = ''] = process.argv.slice(2)
const backend = bubblewrapBackend({ serverId: 'notroot', stateDir, guestPath, launcherPath })
const names = ['sbx_0000000000000001', 'sbx_0000000000000002']
try {
  for (const name of names)
    await backend.create(name, {
      ...{ image: null, network: 'off', rootfs: 'read-only' },
      mounts: [{ source: attacks, target: '/mnt/attacks', mode: 'ro' }],
      limits: { cpus: null, memoryBytes: null, pids: null, tmpBytes: 16 * 1024 * 1024, openFiles: 256 },
    })
  console.log(JSON.stringify(names))
  process.stdin.resume()
  await once(process.stdin, 'end')
} finally {
  for (const name of names) await backend.destroy(name)
}
