/**
 * `/v1/sessions/{id}/previews`: links for browsers to web apps inside.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { CreatePreviewBody, PreviewView } from '@holdfast/protocol'
import type { MakePreview } from '../preview/make-preview.ts'
import { OneId } from './paths.ts'
import { json, route } from './route.ts'
import type { Route } from './route.ts'

export function previewRoutes({ makePreview }: { readonly makePreview: MakePreview }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/sessions/{id}/previews',
      summary: 'Make a link by which a browser reaches a web app inside, without a key',
      authorization: 'exec',
      params: OneId,
      body: CreatePreviewBody,
      answers: { 201: json('Preview', PreviewView, 'The link') },
      errors: ['not_found', 'forbidden', 'session_closed'],
      handle: async (call) => ({
        status: 201,
        body: await makePreview(call, call.params.id, { port: call.body.port, ttlSeconds: call.body.ttl_seconds }),
      }),
    }),
  ]
}
