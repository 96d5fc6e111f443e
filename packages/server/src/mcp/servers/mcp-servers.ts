/**
 * A tenant's MCP servers: put, listed, removed. Each change is in the tenant's audit, by name and never by content.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * Who may do this is decided before; every function takes the tenant that was decided on. One that everybody shares is kept in the
 * default tenant, and is there for all the others too, unless they have one of that name.
 */
import { HoldfastError } from '@holdfast/protocol'
import { MAXIMUM_MCP_SERVERS } from '@holdfast/protocol/mcp'
import type { McpScope, McpServerConfig } from '@holdfast/protocol/mcp'
import { shortMemory } from '../../access/short-memory.ts'
import type { Sealing } from '../../home/sealing.ts'
import { appendTenantAudit } from '../../sessions/audit/tenant-audit.ts'
import type { AuditRecord } from '../../sessions/audit/audit-record.ts'
import type { Store, Transaction } from '../../store/store.ts'
import {
  deleteMcpServer,
  findMcpServer,
  insertMcpServer,
  lockMcpServer,
  mcpServersOfTenant,
  updateMcpServer,
} from '../../store/tables/mcp-servers.ts'
import type { McpServerRow } from '../../store/tables/mcp-servers.ts'
import { openConfig, sealConfig } from './sealed-config.ts'

export interface McpServer extends Omit<McpServerRow, 'config'> {
  readonly config: McpServerConfig
}

/** Who does it, for the audit. */
export interface By extends Pick<AuditRecord, 'actor' | 'onBehalfOf' | 'requestId'> {
  /** Throws where this one may not change a server of that scope, whether it has that scope or is to get it. */
  mayChange?(scope: McpScope): void
}

export interface McpServers {
  /** With those of the default tenant that everybody shares; in the order of their names. */
  list(tenantId: string): Promise<readonly McpServer[]>
  /** Throws `not_found`. */
  get(tenantId: string, name: string): Promise<McpServer>
  /** As it is, or as it was some seconds ago where another server changed it since: for every call of a tool. Throws `not_found`. */
  recall(tenantId: string, name: string): Promise<McpServer>
  /** All of them or none. With `ifVersion`, only in the place of that version; throws `version_conflict`. */
  put(tenantId: string, configs: Readonly<Record<string, McpServerConfig>>, by: By, ifVersion?: number): Promise<readonly PutServer[]>
  /** Throws `not_found`, `version_conflict`. */
  remove(tenantId: string, name: string, by: By, ifVersion?: number): Promise<void>
}

export interface PutServer {
  readonly server: McpServer
  readonly isNew: boolean
}

export interface McpServersNeeds {
  readonly store: Store
  readonly sealing: Sealing
  readonly clock: () => number
  /** Keeps those that everybody shares. */
  readonly sharedTenantId: string
  /** After it is stored: what runs by the configuration before is out of date. */
  onChange(changed: Pick<McpServer, 'tenantId' | 'name'>): void
}

export function createMcpServers({ store, sealing, clock, sharedTenantId, onChange }: McpServersNeeds): McpServers {
  const opened = rememberedConfigs(sealing)
  const memory = shortMemory<McpServer>({ clock, lifeMs: MEMORY_MS, limit: MAXIMUM_REMEMBERED })

  /** After it is stored. Also for tenants that see it because it is shared. */
  function changed(server: Pick<McpServer, 'tenantId' | 'name'>): void {
    memory.forgetAll()
    onChange(server)
  }

  async function find(tenantId: string, name: string): Promise<McpServer | null> {
    const row = await store.read(async (sql) => {
      const own = await findMcpServer(sql, tenantId, name)
      if (own !== null || tenantId === sharedTenantId) return own
      const shared = await findMcpServer(sql, sharedTenantId, name)
      return shared?.scope === 'shared' ? shared : null
    })
    return row === null ? null : opened(row)
  }

  async function write(transaction: Transaction, tenantId: string, action: string, name: string, who: By): Promise<void> {
    const resource = { type: 'mcp_server', id: name }
    const { mayChange: _, ...by } = who
    await appendTenantAudit(transaction, tenantId, { ...by, action, resource, decision: 'allow', outcome: 'success' }, clock())
  }

  async function putOne(
    transaction: Transaction,
    wish: { readonly tenantId: string; readonly name: string; readonly config: McpServerConfig; readonly by: By },
    ifVersion: number | undefined,
  ): Promise<PutServer> {
    const { tenantId, name, config, by } = wish
    const before = await lockMcpServer(transaction, tenantId, name)
    if (before !== null) by.mayChange?.(before.scope)
    checkVersion(before, ifVersion)
    const row: McpServerRow = {
      ...{ tenantId, name, scope: config.scope, config: sealConfig(sealing, wish, config), version: (before?.version ?? 0) + 1 },
      createdAt: before?.createdAt ?? clock(),
      // What runs tells by it which configuration it has, so it never stays the same.
      updatedAt: Math.max(clock(), (before?.updatedAt ?? 0) + 1),
    }
    if (before === null) await insertMcpServer(transaction, row)
    else if (!(await updateMcpServer(transaction, before, row))) throw changedUnderLock(name)
    await write(transaction, tenantId, before === null ? 'mcp-server.create' : 'mcp-server.update', name, by)
    return { server: { ...row, config }, isNew: before === null }
  }

  return {
    async list(tenantId) {
      const rows = await store.read(async (sql) => {
        const own = await mcpServersOfTenant(sql, tenantId)
        if (tenantId === sharedTenantId) return own
        const names = new Set(own.map(({ name }) => name))
        const shared = (await mcpServersOfTenant(sql, sharedTenantId)).filter(({ name, scope }) => scope === 'shared' && !names.has(name))
        return [...own, ...shared].toSorted((one, other) => (one.name < other.name ? -1 : 1))
      })
      return rows.map(opened)
    },
    get: async (tenantId, name) => there(name, await find(tenantId, name)),
    recall: async (tenantId, name) => there(name, await memory.recall(`${tenantId} ${name}`, () => find(tenantId, name))),
    async put(tenantId, configs, by, ifVersion) {
      const wishes = Object.entries(configs)
      for (const [name, { scope }] of wishes) {
        by.mayChange?.(scope)
        if (scope === 'shared' && tenantId !== sharedTenantId) throw notShared(name)
      }
      const put = await store.write(async (transaction) => {
        const done: PutServer[] = []
        for (const [name, config] of wishes) done.push(await putOne(transaction, { tenantId, name, config, by }, ifVersion))
        // Counted last: the audit has locked the tenant by now, so two at once cannot both be the last that fit.
        if ((await mcpServersOfTenant(transaction, tenantId)).length > MAXIMUM_MCP_SERVERS)
          throw new HoldfastError('quota_exceeded', `a tenant has at most ${MAXIMUM_MCP_SERVERS} MCP servers`, {
            quota: 'mcp_servers',
            limit: MAXIMUM_MCP_SERVERS,
          })
        return done
      })
      for (const { server } of put) changed(server)
      return put
    },
    async remove(tenantId, name, by, ifVersion) {
      await store.write(async (transaction) => {
        const before = await lockMcpServer(transaction, tenantId, name)
        if (before === null) throw noSuchServer(name)
        by.mayChange?.(before.scope)
        checkVersion(before, ifVersion)
        if (!(await deleteMcpServer(transaction, before))) throw changedUnderLock(name)
        await write(transaction, tenantId, 'mcp-server.remove', name, by)
      })
      changed({ tenantId, name })
    },
  }
}

/** Every call of a tool asks for it, and it stays the same until it is put again. */
function rememberedConfigs(sealing: Sealing): (row: McpServerRow) => McpServer {
  const known = new Map<string, McpServer>()
  return (row) => {
    const key = `${row.tenantId} ${row.name}`
    const before = known.get(key)
    if (before?.updatedAt === row.updatedAt && before.createdAt === row.createdAt) return before
    const server = { ...row, config: openConfig(sealing, row) }
    if (known.size >= MAXIMUM_REMEMBERED) known.clear()
    known.set(key, server)
    return server
  }
}

const MAXIMUM_REMEMBERED = 1_024
/** As for keys. */
const MEMORY_MS = 5_000

function there(name: string, server: McpServer | null): McpServer {
  if (server === null) throw noSuchServer(name)
  return server
}

export function noSuchServer(name: string): HoldfastError {
  return new HoldfastError('not_found', `there is no MCP server ${JSON.stringify(name)}`, { server: name })
}

function checkVersion(before: McpServerRow | null, ifVersion: number | undefined): void {
  if (ifVersion === undefined || ifVersion === (before?.version ?? 0)) return
  const found = before === null ? 'it is not there' : `it has version ${before.version}`
  throw new HoldfastError('version_conflict', `the MCP server is not at version ${ifVersion}: ${found}`, {
    version: before?.version ?? null,
  })
}

function notShared(name: string): HoldfastError {
  const problem = 'one that everybody shares is kept in the default tenant; use "tenant" here'
  return new HoldfastError('invalid_request', `scope: ${problem}`, { server: name, problems: [{ field: 'scope', problem }] })
}

function changedUnderLock(name: string): HoldfastError {
  return new HoldfastError('internal', `the MCP server ${name} changed under a lock`)
}
