/** Accounts that a sandbox with `user: root` knows. */
import { expect, test } from 'vitest'
import { systemAccounts } from './system-accounts.ts'

test('has system accounts by name and number, and no person, member, comment or password', () => {
  const files: Readonly<Record<string, string>> = {
    '/etc/passwd':
      'root:hash:0:0:root:/root:/bin/bash\ndaemon:*:1:1:the daemon:/usr/sbin:/usr/sbin/nologin\nann:x:1000:1000:Ann:/home/ann:/bin/sh\nnobody:x:65534:65534:n:/:/bin/false\nbad name:x:7:7::/:\n',
    '/etc/group': 'root:x:0:\nssl-cert:x:103:postgres,ann\nann:x:1000:\n',
  }
  expect(systemAccounts('/home/user', '/bin/bash', (path) => files[path] ?? '')).toEqual({
    passwd: 'root:x:0:0:root:/home/user:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\nnobody:x:65534:65534::/:/bin/false\n',
    group: 'root:x:0:\nssl-cert:x:103:\n',
  })
})
