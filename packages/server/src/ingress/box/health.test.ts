/** The two addresses that operators of a Box server ask, over what the server answers there. */
import { expect, test } from 'vitest'
import { boxHealth } from './health.ts'

const backend = { name: 'docker' as string | null, available: true }
const counts = () => ({ sessions: 2, managed_processes: 1, completed_processes: 0 })
const health = boxHealth({ runtime: { backendInfo: async () => backend, counts }, underWay: (action) => (action === undefined ? 3 : 1) })
const answers: Record<string, () => Response> = {
  '/healthz': () => Response.json({ status: 'ok' }, { headers: { 'x-request-id': 'r' } }),
  '/readyz': () => Response.json({ status: 'ready' }),
}
const fetch = health.over((request) => answers[new URL(request.url).pathname]?.() ?? new Response('other', { status: 404 }))
const ask = async (path: string, method = 'GET') => fetch(new Request(`http://127.0.0.1:5410${path}`, { method }), undefined)

test('/healthz is alive, with its resources, and still the server’s own', async () => {
  const answer = await ask('/healthz')
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([200, 'r'])
  expect(await answer.json()).toMatchObject({
    ...{ status: 'ok', live: true },
    resources: {
      event_loop: { running: true, samples_total: expect.any(Number) as number, max_lag_ms: expect.any(Number) as number },
      blocking_executor: {},
      ...{
        sessions: 2,
        managed_processes: 1,
        completed_processes: 0,
        creating_session_tasks: 1,
        closing_session_tasks: 1,
        background_tasks: 3,
      },
    },
  })
})

test('/readyz is ready when the server is and the backend is available', async () => {
  const ready = { ready: true, mode: 'standard', backend: { name: 'docker', available: true }, checks: { backend_available: true } }
  const answer = await ask('/readyz')
  expect([answer.status, await answer.json()]).toMatchObject([200, ready])
  backend.available = false
  const unavailable = await ask('/readyz?x=1')
  expect([unavailable.status, await unavailable.json()]).toMatchObject([503, { ready: false, checks: { backend_available: false } }])
  backend.available = true
  answers['/readyz'] = () => Response.json({ code: 'server_stopping' }, { status: 503 })
  const stopping = await ask('/readyz')
  expect([stopping.status, await stopping.json()]).toMatchObject([503, { ready: false, code: 'server_stopping' }])
})

test('everything else is left as it is', async () => {
  expect(await (await ask('/v1/healthz')).text()).toBe('other')
  expect(await (await ask('/healthz', 'DELETE')).json()).toEqual({ status: 'ok' })
  answers['/healthz'] = () => Response.json({ code: 'host_refused' }, { status: 403 })
  expect([(await ask('/healthz')).status, await (await ask('/healthz')).json()]).toEqual([403, { code: 'host_refused' }])
})
