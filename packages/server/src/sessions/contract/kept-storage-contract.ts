/**
 * What is promised of kept data on every store: ages and quotas hold for each tenant, and nothing that is needed goes.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TenantQuotas } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomId } from '../../home/random-id.ts'
import { migrate } from '../../store/migrate.ts'
import type { Store } from '../../store/store.ts'
import { deleteOldestEvents, insertEvent } from '../../store/tables/events.ts'
import { endExecution, executionsKnown, insertExecution } from '../../store/tables/executions.ts'
import type { ExecutionRow } from '../../store/tables/executions.ts'
import { renewServer } from '../../store/tables/servers.ts'
import { insertSession } from '../../store/tables/sessions.ts'
import type { SessionRow } from '../../store/tables/sessions.ts'
import { insertTenant } from '../../store/tables/tenants.ts'
import { createLog } from '../../telemetry/log.ts'
import { createKeptStorage, RECORD_BYTES } from '../kept-storage.ts'
import type { QuotaLimits } from '../quotas.ts'
import { createRetention } from '../retention.ts'
import { sampleSession } from './sample-session.ts'

const HOUR = 3_600_000
const NOW = Date.UTC(2026, 10, 1)
const UNLIMITED: QuotaLimits = {
  ...{ open_sessions: null, open_sessions_per_owner: null, compute_sessions: null, compute_sessions_per_owner: null },
  ...{ profiles: null, pipelines: null, kept_output_bytes: null, kept_events: null, kept_answer_bytes: null },
}

export function keptStorageContract(name: string, open: () => Promise<Store>): void {
  describe(`kept storage on ${name}`, () => {
    let store: Store
    let outputDirectory: string
    beforeAll(async () => {
      outputDirectory = mkdtempSync(join(tmpdir(), 'holdfast-kept-'))
      store = await open()
      await migrate(store)
    })
    afterAll(async () => {
      await store.close()
      rmSync(outputDirectory, { recursive: true, force: true })
    })

    /** A tenant of its own, with a server that keeps records for an hour and events for one too. */
    async function prepare(quotas: TenantQuotas = {}, defaults: Partial<QuotaLimits> = {}) {
      const [tenantId, serverId] = [randomId('tnt'), randomId('srv')]
      const policy = { admin_exec: false, packing: { profiles: [] }, ceilings: {} }
      await store.write(async (transaction) => {
        await insertTenant(transaction, { id: tenantId, name: tenantId, state: 'active', policy, quotas, version: 1, createdAt: 0 })
        await renewServer(transaction, { id: serverId, url: null, now: 0, aliveUntil: 0 })
      })
      let now = NOW
      const lines: string[] = []
      const log = createLog({ level: 'warn', format: 'json' }, (line) => lines.push(line))
      const kept = createKeptStorage({
        ...{ store, serverId, clock: () => now, log, outputDirectory, defaults: { ...UNLIMITED, ...defaults } },
        ...{ recordMs: HOUR, eventRetentionMs: HOUR },
      })
      const retention = createRetention(kept.rules, log)
      const session = async (more: Partial<SessionRow> = {}) => {
        const row = sampleSession({ tenantId, serverId, state: 'idle', recordMs: HOUR, ...more })
        await store.write((transaction) => insertSession(transaction, row))
        return row
      }
      /** An execution that ended at `at`; without output its files hold `bytes`. */
      const execution = async (of: SessionRow, at: number | null, bytes: number, more: Partial<ExecutionRow> = {}) => {
        const id = randomId('exe')
        await store.write(async (transaction) => {
          await insertExecution(transaction, {
            ...{
              id,
              sessionId: of.id,
              tenantId,
              sandboxId: 'sbx_1',
              incarnation: 1,
              kind: 'command',
              name: null,
              actor: 'a',
              timeoutMs: null,
            },
            ...{ status: 'running', exitCode: null, signal: null, cancelAt: null, startedAt: (at ?? now) - 1, endedAt: null },
            ...{ durationMs: null, outputSeq: 0, ...more },
          })
          if (at === null) return
          const end = {
            status: 'completed',
            exitCode: 0,
            signal: null,
            endedAt: at,
            durationMs: 1,
            outputSeq: bytes,
            output: null,
          } as const
          await endExecution(transaction, id, end)
        })
        writeFileSync(join(outputDirectory, `${id}.0`), Buffer.alloc(bytes))
        if (at !== null) kept.add(tenantId, 'output', RECORD_BYTES + bytes, at)
        return id
      }
      const left = (of: SessionRow, ids: readonly string[]) => store.read((sql) => executionsKnown(sql, of.id, ids))
      const pass = (ms: number) => (now += ms)
      return { tenantId, serverId, kept, retention, session, execution, left, pass, lines }
    }

    test('ended executions of an open session go by age with their output; running ones, held ones and the last run of a process stay', async () => {
      const { kept, retention, session, execution, left, pass, tenantId } = await prepare()
      const used = await session()
      const held = await session({ heldAt: NOW, heldBy: 'a' })
      const old = await execution(used, NOW, 10_000)
      const running = await execution(used, null, 10)
      const process = await execution(used, NOW, 10, { kind: 'process', name: 'web', startedAt: NOW - 5 })
      const earlier = await execution(used, NOW, 10, { kind: 'process', name: 'web', startedAt: NOW - 50 })
      const fresh = await execution(used, NOW + HOUR, 10)
      const ofHeld = await execution(held, NOW, 10)
      pass(HOUR + 1)
      await retention.run()
      expect(await left(used, [old, running, process, earlier, fresh])).toEqual(expect.arrayContaining([running, process, fresh]))
      expect(await left(used, [old, earlier])).toEqual([])
      expect(existsSync(join(outputDirectory, `${old}.0`))).toBe(false)
      expect(existsSync(join(outputDirectory, `${running}.0`))).toBe(true)
      expect(await left(held, [ofHeld])).toEqual([ofHeld])
      expect(kept.used(tenantId, 'output')).toBe(3 * (RECORD_BYTES + 10))
    })

    test('above its quota a tenant loses its oldest output, no more than has to go, and no other tenant loses any', async () => {
      const [full, other] = [await prepare({ kept_output_bytes: 500_000 }), await prepare()]
      const [one, beside] = [await full.session(), await other.session()]
      const ids: string[] = []
      for (let n = 0; n < 60; n += 1) ids.push(await full.execution(one, NOW - 100 + n, 20_000))
      const others = [await other.execution(beside, NOW - 100, 900_000)]
      await full.retention.run()
      await other.retention.run()
      const left = await full.left(one, ids)
      expect(left.length).toBeGreaterThanOrEqual(3)
      expect(new Set(left)).toEqual(new Set(ids.slice(-left.length)))
      expect(full.kept.used(full.tenantId, 'output')).toBe(left.length * (RECORD_BYTES + 20_000))
      expect(full.kept.used(full.tenantId, 'output')).toBeLessThanOrEqual(500_000)
      expect(full.lines).toEqual([expect.stringMatching(/kept-over-quota.*"setting":"quotas.output"/)])
      expect(await other.left(beside, others)).toEqual(others)
    })

    test('above its quota a tenant loses its oldest events', async () => {
      const { kept, retention, tenantId } = await prepare({}, { kept_events: 700 })
      await store.write(async (transaction) => {
        for (let seq = 1; seq <= 2_000; seq += 1)
          await insertEvent(transaction, { tenantId, sessionId: tenantId, seq, type: 'execution.started', at: NOW, body: '{}' })
      })
      kept.add(tenantId, 'events', 2_000, NOW)
      await retention.run()
      const rows = await store.read((sql) => sql.all('SELECT seq FROM events WHERE tenant_id = ? ORDER BY seq', tenantId))
      expect([rows.length, Number(rows[0]?.['seq'])]).toEqual([700, 1301])
      expect(kept.used(tenantId, 'events')).toBe(700)
    })

    test('a tenant with as many answers as it may keep is refused by the name of the setting, until they expire', async () => {
      const { kept, retention, pass, tenantId } = await prepare({ kept_answer_bytes: 1_000 })
      const other = randomId('tnt')
      await retention.run()
      kept.add(tenantId, 'answers', 1_000, NOW + HOUR)
      expect(() => kept.assertRoom(other, 'answers')).not.toThrow()
      expect(() => kept.assertRoom(tenantId, 'answers')).toThrow(/quotas\.answers/)
      await retention.run()
      expect(() => kept.assertRoom(tenantId, 'answers')).toThrow(expect.objectContaining({ code: 'quota_exceeded' }) as Error)
      pass(3 * HOUR)
      await retention.run()
      await kept.refresh()
      expect(() => kept.assertRoom(tenantId, 'answers')).not.toThrow()
    })

    test('what several servers count is added up, and a wrong count is gone with its period', async () => {
      const { kept, retention, pass, tenantId } = await prepare()
      const second = createKeptStorage({
        ...{ store, serverId: randomId('srv'), clock: () => NOW, log: createLog({ level: 'error', format: 'json' }, () => undefined) },
        ...{ outputDirectory, defaults: UNLIMITED, recordMs: HOUR, eventRetentionMs: HOUR },
      })
      kept.add(tenantId, 'events', 5, NOW)
      second.add(tenantId, 'events', 7, NOW)
      await second.refresh()
      await kept.refresh()
      expect(kept.used(tenantId, 'events')).toBe(12)
      pass(2 * HOUR)
      await retention.run()
      await kept.refresh()
      expect(kept.used(tenantId, 'events')).toBe(0)
      expect(await store.write((transaction) => deleteOldestEvents(transaction, tenantId, 1))).toEqual([])
    })
  })
}
