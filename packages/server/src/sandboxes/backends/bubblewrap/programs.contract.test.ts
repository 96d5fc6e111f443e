/** Programs that people run in sandboxes work under the system call filter. docs/seccomp.md has the versions and the slower programs. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backendsUnderTest } from '../../../../../../test/environment/backends.ts'
import { subjectOf } from '../../contract/contracts.ts'
import { openLaboratory, type Laboratory } from '../../contract/laboratory.ts'
import { shell } from '../../contract/outcome.ts'
import { bubblewrapBackend } from './bubblewrap-backend.ts'

interface Program {
  /** What must be on the host, whose `/usr` the sandbox shows. */
  readonly needs: string
  readonly script: string
  readonly prints: string
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'Python: processes, threads, an event loop, sockets': {
    needs: '/usr/bin/python3',
    script: `/usr/bin/python3 - <<'END'
import asyncio, mmap, multiprocessing, socket, subprocess, threading
with multiprocessing.get_context('fork').Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
threads = [threading.Thread(target=print, args=('',), kwargs={'end': ''}) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
async def main():
    server = await asyncio.start_server(lambda reader, writer: (writer.write(b'x'), writer.close()), '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b'x'
    assert await (await asyncio.create_subprocess_exec('true')).wait() == 0
asyncio.run(main())
mmap.mmap(-1, 4096)[0] = 1
print(subprocess.check_output(['echo', 'ok']).decode().strip(), socket.if_nameindex()[0][1])
END`,
    prints: 'ok lo',
  },
  'python, also where the host has only python3, and a virtual environment of it': {
    needs: '/usr/bin/python3',
    script: `python -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -c 'import json, sys; print("ok", sys.prefix)'`,
    prints: 'ok /tmp/venv',
  },
  'Node.js: a worker, a child process, HTTP, a file watcher': {
    needs: '/usr/bin/node',
    script: `cd /tmp && cat > program.mjs <<'END'
import { execFileSync } from 'node:child_process'
import { watch } from 'node:fs'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { Worker } from 'node:worker_threads'
await new Promise((resolve) => new Worker('require("node:worker_threads").parentPort.postMessage(1)', { eval: true }).once('message', resolve))
const server = createServer((request, response) => response.end('ok')).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const answer = await (await fetch('http://127.0.0.1:' + server.address().port)).text()
watch('/tmp').close()
console.log(answer, String(execFileSync('echo', ['child'])).trim(), Object.keys(networkInterfaces())[0])
server.closeAllConnections()
server.close()
END
/usr/bin/node program.mjs`,
    prints: 'ok child lo',
  },
  'git: commit, pack, clone, check': {
    needs: '/usr/bin/git',
    script: `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
cd /tmp && git init -q one && cd one && echo x > file && git add file && git commit -qm first && git gc -q && git clone -q . ../two && git -C ../two fsck && git -C ../two log --format=%s`,
    prints: 'first',
  },
  'gcc: compile, link, run': {
    needs: '/usr/bin/gcc',
    script: `cd /tmp && echo '#include <stdio.h>\nint main(void) { return puts("ok") < 0; }' > program.c && gcc -o program program.c && ./program`,
    prints: 'ok',
  },
  'SQLite: a journal that is mapped memory, and vacuum': {
    needs: '/usr/bin/sqlite3',
    script: `cd /tmp && sqlite3 data.db 'pragma journal_mode=wal; create table t(a); insert into t values (1), (2); vacuum; select sum(a) from t;'`,
    prints: 'wal\n3',
  },
  'LMDB: a map of a gigabyte': {
    needs: '/usr/bin/mdb_load',
    script: `cd /tmp && mkdir data && printf 'VERSION=3\nformat=print\ntype=btree\nmapsize=1073741824\nHEADER=END\n a\n b\nDATA=END\n' | mdb_load data && mdb_dump -p data | grep -A1 ' a'`,
    prints: ' a\n b',
  },
  'ssh: keys, and a client that talks to a server': {
    needs: '/usr/sbin/sshd',
    script: `cd /tmp && ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub allowed && chmod 600 allowed
exec 2>log
ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i key \\
  -o ProxyCommand='/usr/sbin/sshd -i -f /dev/null -o HostKey=/tmp/key -o AuthorizedKeysFile=/tmp/allowed -o StrictModes=no -o UsePAM=no' host echo ok || cat log`,
    prints: 'ok',
  },
  'PostgreSQL: initdb, start, query': {
    needs: '/usr/lib/postgresql/15/bin/initdb',
    script: `PATH=$PATH:/usr/lib/postgresql/15/bin PGDATA=/tmp/data && export PGDATA
initdb --no-sync -A trust -U user > log && pg_ctl -w -o '-k /tmp -c listen_addresses=' -l log start > /dev/null || cat log
psql -h /tmp -U user postgres -Atc 'select sum(a) from generate_series(1, 1000) a' && pg_ctl -m immediate stop > /dev/null`,
    prints: '500500',
  },
}

const found = (await backendsUnderTest()).find(({ kind }) => kind === 'bubblewrap')

describe('under the system call filter', () => {
  if (found === undefined || found.skipReason !== null) {
    test.skip(`programs run (skipped: ${found?.skipReason ?? 'no bubblewrap'})`)
    return
  }
  let laboratory: Laboratory
  beforeAll(async () => {
    laboratory = await openLaboratory(subjectOf(found, (needs) => bubblewrapBackend(needs)))
  })
  afterAll(async () => {
    expect(await laboratory.close()).toEqual([])
  })

  for (const [name, { needs, script, prints }] of Object.entries(PROGRAMS)) {
    if (!existsSync(needs)) {
      test.skip(`${name} (skipped: there is no ${needs})`)
      continue
    }
    test(name, async () => {
      const { inside } = await laboratory.create({ limits: { tmpBytes: 512 * 1024 * 1024 } })
      expect(await shell(inside, script)).toBe(prints)
    })
  }
})
