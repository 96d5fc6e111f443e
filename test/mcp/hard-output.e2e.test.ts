/** Through the whole of Holdfast to a server in a real box that prints what it should not: calls go on, and nothing grows without end. */
import { expect, test } from 'vitest'
import { describeHard } from './hard-laboratory.ts'
import { post, toolClient } from './mcp-clients.ts'

const LIMIT_BYTES = 16 * 1024 * 1024

await describeHard('an MCP server in a box', (laboratory) => {
  const { serve, logOf } = laboratory

  test('that prints garbage is heard on, and the garbage is in its log', async () => {
    const client = await toolClient('2025-11-25', await serve('garbage'))
    expect(await client.call('garbage')).toBe('printed')
    expect(await client.call('echo', { said: 'again' })).toBe('again')
    const log = await logOf('garbage')
    expect(log).toContain('this is no message')
    expect(log).toContain(String.raw`{\"nor\": \"this\"}`)
    await client.close()
  })

  test('that floods its stderr is not held up by it, and its log stays small', async () => {
    const client = await toolClient('2026-07-28', await serve('flood'))
    expect(await client.call('flood', { lines: 20_000 })).toBe('complained')
    expect(await client.call('echo', { said: 'again' })).toBe('again')
    const log = await logOf('flood')
    expect(log).toContain('complaint 19999 ')
    expect(log.length).toBeLessThan(1024 * 1024)
    await client.close()
  })

  test('that answers above the limit fails that call by name, and no other', async () => {
    const client = await toolClient('2025-11-25', await serve('huge'))
    const other = client.call('echo', { said: 'beside it' })
    await expect(client.call('big', { bytes: LIMIT_BYTES })).rejects.toMatchObject({
      data: { code: 'mcp_message_too_large', details: { limit_bytes: LIMIT_BYTES } },
    })
    expect(await other).toBe('beside it')
    expect(await client.call('echo', { said: 'again' })).toBe('again')
    await client.close()
  })

  test('is not sent what is above the limit', async () => {
    const address = await serve('huge-request')
    const params = { name: 'echo', arguments: { said: 'x'.repeat(LIMIT_BYTES) } }
    const refused = await post(address, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    expect([refused.status, await refused.json()]).toMatchObject([413, { code: 'payload_too_large' }])
  })

  test('that prints a line without an end, above the limit, is heard again once it ends', async () => {
    const client = await toolClient('2026-07-28', await serve('endless'))
    expect(await client.call('endless', { bytes: LIMIT_BYTES + 4 * 1024 * 1024 })).toBe('printed')
    expect(await client.call('echo', { said: 'again' })).toBe('again')
    expect((await logOf('endless')).length).toBeLessThan(1024 * 1024)
    await client.close()
  })
})
