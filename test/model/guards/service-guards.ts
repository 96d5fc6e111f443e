/**
 * The guards around the state machine: changing, getting, placing, losing, cleaning up, running.
 */
import { guardsOf } from './guard.ts'
import type { Guard } from './guard.ts'

export const SERVICE_GUARDS: readonly Guard[] = [
  ...guardsOf('sessions/change.ts', 'model', [
    [`if (step.session === before) return before`, ``],
    [`if (before === null) throw noSuchSession()`, `if (before === null) throw new Error('none')`],
    [`if (!(await insertSession(transaction, after))) throw new RaceLost()`, `await insertSession(transaction, after)`],
    [`if (error instanceof RaceLost) return null`, ``],
    [`isMoved && type.startsWith('session.')`, `type.startsWith('session.')`],
    [`eventSeq: session.eventSeq + events.length`, `eventSeq: session.eventSeq + 1`],
    [`isClosed(after.state) && !isClosed(before.state)`, `isClosed(after.state)`],
  ]),
  ...guardsOf('sessions/getting.ts', 'model', [
    [`if (!caller.mayCreate(owner, request.ownerGroup ?? null))`, `if (false)`],
    [
      `const tenant = await quotas.check(transaction, { tenantId, owner, adds: 'both'`,
      `const tenant = await quotas.check(transaction, { tenantId, owner, adds: 'session'`,
    ],
    [`} else if (known.state === 'closing') {`, `} else if (false) {`],
    [`checkCompatible(request, known)`, ``],
    [`times: withinCeilings(wished, tenant.policy.ceilings)`, `times: wished`],
    [`Math.min(ms, seconds * 1000))`, `ms)`],
    [`Math.min(ms ?? Number.POSITIVE_INFINITY, seconds * 1000)`, `ms`],
    [`isClosed(state), {`, `true, {`],
  ]),
  ...guardsOf('sessions/compatible.ts', 'model', [
    [`asks !== undefined && asks !== (known ?? null)`, `asks !== (known ?? null)`],
    [`['network', network],`, ``],
    ['LIMITS.map((name) => [`limits.${name}`, limits[name]] as const)', `[]`],
    [`['pack', asked.pack, session.pack] as const,`, ``],
  ]),
  ...guardsOf('sessions/placement.ts', 'model', [
    [`if ((await countHosted(transaction, serverId)) >= maxSandboxes)`, `if (false)`],
    [`pack === null ? null : await lockRoomySandbox(transaction, pack.key, serverId)`, `null`],
    [`sessionId: pack === null ? sessionId : null`, `sessionId: null`],
    [`maxSessions: pack?.maxSessions ?? 1`, `maxSessions: 9`],
  ]),
  ...guardsOf('sessions/losing.ts', 'model', [
    [
      `for (const session of await store.read((sql) => sessionsInSandbox(sql, sandboxId))) {`,
      `for (const session of (await store.read((sql) => sessionsInSandbox(sql, sandboxId))).slice(0, 1)) {`,
    ],
    [`if (step.session === before) return step`, ``],
  ]),
  ...guardsOf('sessions/clean-up.ts', 'model', [
    [`if (session?.state !== 'closing' || isDraining(session, clock())) return`, `if (session?.state !== 'closing') return`],
    [`isKept = session.workspaceOnClose === 'keep'`, `isKept = false`],
    [`if (!isKept) await habitats.remove(session)`, ``],
    [`if (!isLate) throw error`, ``],
    [`if (!isLate) throw error`, `throw error`],
    [`if (packUid === null || (await store.write((transaction) => closeSandboxToOthers(transaction, sandboxId, id)))) {`, `if (true) {`],
    [
      `if (packUid === null || (await store.write((transaction) => closeSandboxToOthers(transaction, sandboxId, id)))) {`,
      `if (packUid === null) {`,
    ],
    [`if (wanted.delete(ref.id)) void run(ref)`, ``],
  ]),
  ...guardsOf('sessions/executions/executions.ts', 'model', [
    [
      `if (!(await insertExecution(transaction, execution, request.attendedBy)))`,
      `await insertExecution(transaction, execution, request.attendedBy)\n      if (false)`,
    ],
    [`row.state === 'closing' && !isDraining(row, now)`, `row.state === 'closing'`],
    [`timedOut ? 'timed_out' : 'completed'`, `'completed'`],
    [`if (followed.outcome === 'left')`, `if (false)`],
  ]),
]
