/**
 * Who comes in to an app, and by which right: the key of a program, or a link in the name of whoever asked for it.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Below `/preview/` in the order of the REST door: the check of host and origin, the key, how often its holder asks, the address, the right
 * to the session. As long as bytes flow, the key or the link and the right are asked for again.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError, InnerPort, isHoldfastError } from '@holdfast/protocol'
import type { ErrorCode } from '@holdfast/protocol'
import { checkOrigin } from '../../access/listen-address.ts'
import type { PreviewLinks } from '../../access/preview-links.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { ownerOf, workBudget } from '../pipeline/work-budget.ts'
import type { DoorNeeds } from '../rest/door.ts'
import { entering } from '../rest/entering.ts'
import type { EnteringNeeds } from '../rest/entering.ts'
import type { RequestFacts } from '../rest/request-observation.ts'
import type { Entered } from '../rest/route.ts'
import type { Asked } from './preview-address.ts'
import { noSuchLink } from './refusal.ts'

const RECHECK_EVERY_MS = 15_000
const SESSION_ID = /^\w{1,64}$/
/** What ends a connection when the right to it is asked for again. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'forbidden', 'not_found'])

export interface PreviewEntranceNeeds extends EnteringNeeds, Pick<DoorNeeds, 'checkHost' | 'allowedOrigins' | 'budget'> {
  readonly links: Pick<PreviewLinks, 'open'>
  readonly sessions: Pick<Sessions, 'ports' | 'reads'>
  readonly recheckEveryMs?: number
}

/** A connection to the app that was asked for. */
export interface Arrived {
  readonly connection: Duplex
  readonly port: number
  readonly clientAddress: string
}

export interface PreviewEntrance {
  /** `left` fires when the client leaves. */
  arrive(request: IncomingMessage, asked: Asked, facts: RequestFacts, left: AbortSignal): Promise<Arrived>
}

/** Who asks for which port of which session. */
interface Visitor extends Entered {
  /** The link that was used; left out: a key. */
  readonly linkId?: string
  readonly sessionId: string
  readonly port: number
}

export function previewEntrance(needs: PreviewEntranceNeeds): PreviewEntrance {
  const { links, sessions, callerOf, admit, checkHost, allowedOrigins, budget = workBudget(), recheckEveryMs = RECHECK_EVERY_MS } = needs
  const { enter } = entering(needs)
  const header = ({ headers }: IncomingMessage, name: string) => [headers[name]].flat()[0]
  const addressOf = (request: IncomingMessage) => needs.clientAddress(request.socket.remoteAddress, header(request, 'x-forwarded-for'))

  async function visitorOf(request: IncomingMessage, asked: Asked, facts: RequestFacts): Promise<Visitor> {
    if (asked.form === 'path') {
      const knock = { header: (name: string) => header(request, name), peer: request.socket.remoteAddress, facts }
      return { ...(await enter(knock)), sessionId: asked.session, port: Number(asked.port) }
    }
    const link = await links.open(asked.label)
    if (link === null) throw noSuchLink()
    const { id: linkId, principal, sessionId, port } = link
    facts.keyId = principal.keyId
    return { linkId, principal, caller: await callerOf(principal), sessionId, port }
  }

  async function connect({ caller, sessionId, port }: Visitor, asked: Asked, signal: AbortSignal): Promise<Duplex> {
    try {
      return await sessions.ports.connect(caller, sessionId, port, signal)
    } catch (error) {
      // What its asker may not see is not there for the holder of a link.
      throw asked.form === 'link' && isHoldfastError(error, 'not_found') ? noSuchLink() : error
    }
  }

  /** Ends the connection when whoever opened it may not have it any more. */
  function watch(connection: Duplex, request: IncomingMessage, asked: Asked, facts: RequestFacts): void {
    const recheck = async () => {
      const { caller, sessionId } = await visitorOf(request, asked, facts)
      await sessions.reads.open(caller, 'exec', sessionId)
    }
    const rechecking = setInterval(() => {
      recheck().catch((error: unknown) => {
        // What keeps us from asking is no refusal; the next time may go better.
        if (isHoldfastError(error) && REFUSALS.has(error.code)) connection.destroy(error)
      })
    }, recheckEveryMs).unref()
    connection.once('close', () => clearInterval(rechecking))
  }

  return {
    async arrive(request, asked, facts, left) {
      if (asked.form === 'path') {
        checkHost(request.headers.host)
        checkOrigin(request.headers.origin, request.headers.host, allowedOrigins)
      }
      const visitor = await visitorOf(request, asked, facts)
      admit(visitor.principal, visitor.linkId)
      checkAddress(asked)
      // A page may take as long as it likes to answer.
      const release = budget.begin(ownerOf(visitor.principal)).openStream()
      const connection = await connect(visitor, asked, left).catch((error: unknown) => {
        release()
        throw error
      })
      connection.once('close', release)
      if (left.aborted) {
        connection.destroy()
        throw new HoldfastError('request_cancelled', 'the caller left before the app was reached')
      }
      watch(connection, request, asked, facts)
      return { connection, port: visitor.port, clientAddress: addressOf(request) }
    },
  }
}

/** Of a link, only the path is the client's to say. */
function checkAddress(asked: Asked): void {
  if (!asked.path.startsWith('/')) throw new HoldfastError('invalid_request', 'the address of the request is none')
  if (asked.form === 'link') return
  if (!SESSION_ID.test(asked.session)) throw new HoldfastError('invalid_request', 'session: must be an id: 1 to 64 letters, digits and "_"')
  if (!/^\d+$/.test(asked.port) || !InnerPort.safeParse(Number(asked.port)).success)
    throw new HoldfastError('invalid_request', `port: must be a whole number from 1 to 65535, but is ${asked.port.slice(0, 32)}`)
}
