/**
 * `/v1/audit`: who did what, and whether the records are as they were written.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { AuditPage, AuditQuery, AuditVerdict, VerifyAuditBody } from '@holdfast/protocol'
import { createAuditVerifier } from '../../sessions/audit/audit-verifier.ts'
import type { Store } from '../../store/store.ts'
import { listAudit } from '../../store/tables/audit.ts'
import { auditView } from './audit-view.ts'
import type { Pages } from './page-tokens.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export function auditRoutes({ store, pages }: { readonly store: Store; readonly pages: Pages }): readonly Route[] {
  const verifier = createAuditVerifier({ store })
  return [
    route({
      method: 'GET',
      path: '/v1/audit',
      summary: 'Read the audit, newest first: of the tenant, or of one’s own sessions',
      authorization: 'read-audit',
      query: AuditQuery,
      answers: { 200: json('AuditPage', AuditPage, 'Records that the caller may see') },
      errors: ['invalid_page_token'],
      async handle(call) {
        const { caller, query } = call
        const body = await pages.page(
          call,
          'audit',
          (after, limit) =>
            store.read((sql) =>
              listAudit(
                sql,
                caller.visibility,
                query.session ?? null,
                after === null ? null : { at: after[0], chain: after[1], seq: after[2] },
                limit,
              ),
            ),
          ({ at, chain, seq }) => [at, chain, seq],
          auditView,
        )
        return { status: 200, body }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/audit/verify',
      summary: 'Check every record of every tenant against its chain',
      // It reads the chains of all tenants.
      authorization: 'manage-tenants',
      body: VerifyAuditBody,
      answers: { 200: json('AuditVerdict', AuditVerdict, 'What was checked, and what is not as it was written') },
      errors: ['forbidden', 'request_cancelled'],
      isRepeatable: true,
      async handle({ body, signal }) {
        const { items, ...summary } = await verifier.verify(body.known, signal)
        return { status: 200, body: { ...summary, items: [...items] } }
      },
    }),
  ]
}
