/** The status routes answer with the payloads of the pages that read them, whatever state the Box is in. */
import { describe, expect, test } from 'vitest'
import { boxStage, connectedStage } from './contract/box-stage.ts'
import { CONTEXT, SESSION, STATUS } from './contract/script.ts'
import { boxStatusRoutes } from './status-routes.ts'

const get = (path: string, method = 'GET') => new Request(`http://host/api/v1/box/${path}`, { method })

async function answerOf(response: Response | null): Promise<{ readonly status: number | undefined; readonly body: unknown }> {
  return { status: response?.status, body: await response?.json() }
}

describe('the routes', () => {
  test('answer with the status, the sessions and the errors of a Box that works', async () => {
    const { server, service } = await connectedStage()
    const routes = boxStatusRoutes(service)
    server.script.on('box_exec', { fails: 'BoxCapacityExceededError: full' })
    await service.exec({ query_id: 1 }, { command: 'x' }).catch(() => {})
    const status = { ...STATUS, available: true, enabled: true, profile: 'default', recent_error_count: 1, hidden: false }
    await expect(answerOf(await routes(get('status')))).resolves.toEqual({ status: 200, body: { code: 0, msg: 'ok', data: status } })
    await expect(answerOf(await routes(get('sessions')))).resolves.toEqual({ status: 200, body: { code: 0, msg: 'ok', data: [SESSION] } })
    await expect(answerOf(await routes(get('errors')))).resolves.toMatchObject({
      body: { data: [{ type: 'BoxCapacityExceededError', query_id: '1', workspace_uuid: 'ws-A' }] },
    })
    await expect(answerOf(await routes(get('runtime-status')))).resolves.toMatchObject({
      body: { data: { available: true, enabled: true, backend: STATUS.backend } },
    })
    await service.close()
  })

  test('answer 200 when it is disabled, and say so', async () => {
    const { service } = boxStage({ settings: { enabled: false } })
    const routes = boxStatusRoutes(service, { hidden: true })
    await expect(answerOf(await routes(get('status')))).resolves.toMatchObject({
      ...{
        status: 200,
        body: { data: { available: false, enabled: false, hidden: true, connector_error: expect.stringContaining('disabled') } },
      },
    })
    await expect(answerOf(await routes(get('sessions')))).resolves.toEqual({ status: 200, body: { code: 0, msg: 'ok', data: [] } })
    await expect(answerOf(await routes(get('errors')))).resolves.toEqual({ status: 200, body: { code: 0, msg: 'ok', data: [] } })
  })

  test('leave every other address to the host', async () => {
    const routes = boxStatusRoutes(boxStage().service)
    for (const path of ['', 'statuses', 'status/', 'constructor', 'sessions/1']) expect(await routes(get(path))).toBeNull()
    expect(await routes(new Request('http://host/api/v1/status'))).toBeNull()
  })

  test('take only GET and HEAD, and are never cached', async () => {
    const routes = boxStatusRoutes(boxStage().service)
    const refused = await routes(get('status', 'POST'))
    expect({ status: refused?.status, allow: refused?.headers.get('allow') }).toEqual({ status: 405, allow: 'GET, HEAD' })
    expect((await routes(get('status')))?.headers.get('cache-control')).toBe('no-store')
  })

  test('ask for whom a request is, and refuse when nobody knows', async () => {
    const { server, service } = await connectedStage()
    const routes = boxStatusRoutes(service, {
      contextOf(request) {
        const workspace = request.headers.get('x-workspace-id')
        if (workspace === null) throw new Error('no workspace')
        return { ...CONTEXT, workspace_uuid: workspace }
      },
    })
    await routes(new Request('http://host/api/v1/box/sessions', { headers: { 'x-workspace-id': 'ws-C' } }))
    expect(server.script.asked.at(-1)).toMatchObject({ action: 'box_get_sessions', context: { workspace_uuid: 'ws-C' } })
    await expect(answerOf(await routes(get('sessions')))).resolves.toEqual({ status: 403, body: { code: -1, msg: 'no workspace' } })
    await service.close()
  })
})
