/** The limit of TCP buffers on cgroup version 1: a session whose sandbox was killed for it learns why, and continues in a new sandbox. */
import { ExecResult } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { because } from '../../../test/environment/backends.ts'
import { bubblewrapUnderTest, openRealServer } from './ingress/rest/contract/real-server.ts'
import { countsTcpApart } from './sandboxes/backends/engine/tcp-limit.ts'
import { isServerRoot } from './sandboxes/sandbox-user.ts'

const bubblewrap = await bubblewrapUnderTest()
const LIMIT_BYTES = 16 * 2 ** 20

/** Connections that nobody reads from, at a pace that every machine can watch. */
const FILL = `use Socket; my @kept;
for my $n (1..4000) {
  socket(my $listener, PF_INET, SOCK_STREAM, 0) or die; bind($listener, pack_sockaddr_in(0, INADDR_LOOPBACK)); listen($listener, 1);
  socket(my $client, PF_INET, SOCK_STREAM, 0) or die; connect($client, getsockname($listener)); accept(my $server, $listener);
  for my $end ($client, $server) { 1 while send($end, "x" x 65536, 0x40); push @kept, $end }
  last if $n > 450; select(undef, undef, undef, 0.005);
}
sleep 50; print "through\\n";`

test.skipIf(bubblewrap.skipReason !== null || !isServerRoot() || !(await countsTcpApart()))(
  `a sandbox with too much in TCP sockets is killed; event, record and notice name the limit${because(bubblewrap)}`,
  async () => {
    const real = await openRealServer({ HOLDFAST_LIMITS_MEMORY: '64m' })
    try {
      const session = await real.session('sockets')
      const run = async (argv: readonly string[]) => {
        const body = JSON.stringify({ session_id: session, argv, timeout_ms: 60_000 })
        return ExecResult.parse(await (await real.request('/v1/exec', { method: 'POST', body })).json())
      }
      await run(['/bin/sh', '-c', 'echo kept > note'])
      expect(await run(['/usr/bin/perl', '-e', FILL])).toMatchObject({ status: 'lost', stdout: '' })
      // The end of the command may be stored before that of the sandbox.
      const record = async () => (await real.request(`/v1/sessions/${session}`)).json()
      await expect.poll(record).toMatchObject({ suspend_reason: 'tcp_limit' })

      const next = await run(['/bin/cat', 'note'])
      expect(next).toMatchObject({ status: 'completed', stdout: 'kept\n', session: { incarnation: 2 } })
      expect(next.session.notice).toMatch(/its TCP sockets held more than their limit/)

      const { items } = (await (await real.request(`/v1/sessions/${session}/events?after=0`)).json()) as {
        items: { type: string; reason: string | null; data: { held_bytes?: number } }[]
      }
      const killed = items.find(({ type }) => type === 'session.suspended')
      expect(killed).toMatchObject({ reason: 'tcp_limit', data: { limit_bytes: LIMIT_BYTES } })
      expect(killed?.data.held_bytes).toBeGreaterThan(LIMIT_BYTES * 1.5)
      expect(real.logged.join('')).toContain('tcp-buffers-over-limit')
    } finally {
      await real.close()
    }
  },
)
