/**
 * The door to web apps inside sandboxes: HTTP and upgrades, below `/preview/` with a key and under the hosts of links without.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * It answers on the connection itself. Until the app has said something, a refusal is an answer of ours; afterwards all there is, is the app's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError } from '@holdfast/protocol'
import { randomId } from '../../home/random-id.ts'
import type { Log } from '../../telemetry/log.ts'
import { unobserved } from '../../telemetry/observations.ts'
import type { RequestObserver } from '../../telemetry/observations.ts'
import type { Direct, Upgrade } from '../http-listener.ts'
import { problemReply } from '../rest/problems.ts'
import { answersTold } from '../rest/request-observation.ts'
import type { RequestFacts } from '../rest/request-observation.ts'
import { unlessLeft } from '../rest/unless-left.ts'
import { earlyBytes } from '../sockets/early-bytes.ts'
import { refuseUpgrade } from '../sockets/refusal.ts'
import { exchange } from './exchange.ts'
import type { Outwards } from './exchange.ts'
import { inwardHeaders } from './inward-headers.ts'
import { outwardHeaders } from './outward-headers.ts'
import { pass } from './passage.ts'
import { PREVIEW_ROUTE } from './preview-address.ts'
import type { Asked, PreviewAddresses } from './preview-address.ts'
import { previewEntrance } from './preview-entrance.ts'
import type { PreviewEntranceNeeds } from './preview-entrance.ts'
import { refuse } from './refusal.ts'

export interface PreviewDoorNeeds extends PreviewEntranceNeeds {
  readonly addresses: PreviewAddresses
  readonly log: Log
  readonly observer?: RequestObserver
}

export interface PreviewDoor {
  serves(request: IncomingMessage): boolean
  readonly direct: Direct
  readonly upgrade: Upgrade
  /** Takes no more, and cuts what was upgraded; answers on their way are left to the listener. */
  close(): void
}

/** What is known of one request. */
interface Visit {
  readonly requestId: string
  readonly facts: RequestFacts
  answered(status: number): void
}

export function previewDoor(needs: PreviewDoorNeeds): PreviewDoor {
  const { addresses, log, observer = unobserved } = needs
  const entrance = previewEntrance(needs)
  const tell = answersTold(observer, log)
  const upgraded = new Set<Duplex>()
  let isClosing = false

  function visitOf({ method = '' }: IncomingMessage): Visit {
    const since = performance.now()
    const facts: RequestFacts = { route: PREVIEW_ROUTE, keyId: null, requestId: randomId('req') }
    const { requestId } = facts
    return {
      ...{ requestId, facts },
      answered: (status) => tell(method, since, facts, status),
    }
  }

  /** A connection to the app, what it is to be asked, and what becomes of the headers of its answer. */
  async function reach(request: IncomingMessage, asked: Asked, { requestId, facts }: Visit, left: AbortSignal) {
    if (isClosing) throw new HoldfastError('server_stopping', 'the server is stopping and takes no new work')
    const { connection, port, clientAddress } = await entrance.arrive(request, asked, facts, left)
    const { prefix, path } = asked
    const headers = inwardHeaders(request, {
      ...{ isForUs: asked.form === 'path', scheme: addresses.schemeOf(asked), port, prefix, clientAddress },
    })
    const outwards: Outwards = (answer) => {
      if (answer.headers['content-type']?.startsWith('text/event-stream') === true) connection.once('close', observer.streamOpened())
      return outwardHeaders(answer, { port, prefix, requestId })
    }
    return { connection, wish: { method: request.method ?? 'GET', path, headers }, outwards }
  }

  async function answerTo(request: IncomingMessage, answer: ServerResponse, asked: Asked): Promise<void> {
    const visit = visitOf(request)
    const left = new AbortController()
    answer.once('close', () => left.abort())
    try {
      const { connection, wish, outwards } = await reach(request, asked, visit, left.signal)
      visit.answered(await exchange(request, answer, connection, wish, outwards))
    } catch (error) {
      const reply = problemReply(unlessLeft(error, left.signal), visit.requestId, log)
      if (answer.headersSent || answer.destroyed) answer.destroy()
      else refuse(request, answer, { ...reply, headers: { ...reply.headers, 'x-request-id': visit.requestId } }, asked.form === 'link')
      visit.answered(reply.status)
    }
  }

  async function passOn(request: IncomingMessage, socket: Duplex, head: Buffer, asked: Asked): Promise<void> {
    const visit = visitOf(request)
    const early = earlyBytes(socket, head)
    try {
      const { connection, wish, outwards } = await reach(request, asked, visit, early.left)
      const status = await pass(request, early, connection, wish, outwards)
      if (status === 101) attend(connection)
      visit.answered(status)
    } catch (error) {
      const reply = problemReply(unlessLeft(error, early.left), visit.requestId, log)
      early.take()
      refuseUpgrade(socket, reply, visit.requestId)
      visit.answered(reply.status)
    }
  }

  function attend(connection: Duplex): void {
    const closed = observer.streamOpened()
    upgraded.add(connection)
    connection.once('close', () => {
      upgraded.delete(connection)
      closed()
    })
    if (isClosing) connection.destroy()
  }

  return {
    serves: (request) => addresses.read(request) !== null,
    direct(request, answer) {
      const asked = addresses.read(request)
      if (asked === null) return false
      void answerTo(request, answer, asked)
      return true
    },
    upgrade(request, socket, head) {
      const asked = addresses.read(request)
      if (asked === null) throw new TypeError('an upgrade for another door came to that of previews')
      void passOn(request, socket, head, asked)
    },
    close() {
      isClosing = true
      for (const connection of upgraded) connection.destroy()
    },
  }
}
