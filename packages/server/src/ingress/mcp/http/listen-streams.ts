/**
 * `subscriptions/listen` of 2026-07-28: an answer that goes on, with the changes that its client asked for.
 *
 * [ingress] → mcp → access → policy → sessions → sandboxes → guest → result
 */
import { SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY, unenveloped } from '../../../mcp/share/envelope.ts'
import type { Handshake } from '../../../mcp/share/handshake.ts'
import { answerText, INVALID_PARAMS, isObject, metaOf, notificationText } from '../../../mcp/share/message.ts'
import type { JsonObject, RpcNotification, RpcRequest } from '../../../mcp/share/message.ts'
import type { SharedClient } from '../../../mcp/share/shared-clients.ts'
import type { DirectAnswer } from '../../direct-door.ts'
import { errorReply } from './error-reply.ts'
import { eventResponse } from './event-response.ts'
import type { GatewayTarget, GatewayVisit } from './gateway-visit.ts'
import { jsonAnswer, refuse } from './json-answer.ts'
import type { GatewayLimits } from './limits.ts'
import type { Outbox } from './outbox.ts'
import { visitorCounts } from './visitor-counts.ts'

export interface ListenStreams {
  readonly size: number
  open(visit: GatewayVisit, target: GatewayTarget, message: RpcRequest): Promise<DirectAnswer>
}

interface Asked extends Pick<RpcRequest, 'id' | 'params'> {
  readonly wish: JsonObject
}

interface Filter {
  readonly toolsListChanged?: true
  readonly promptsListChanged?: true
  readonly resourcesListChanged?: true
  readonly resourceSubscriptions?: readonly string[]
}

const LISTS = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
] as const

export interface ListenStreamsNeeds {
  readonly limits: GatewayLimits
  readonly newOutbox: () => Outbox
}

export function createListenStreams({ limits, newOutbox }: ListenStreamsNeeds): ListenStreams {
  const counts = visitorCounts({ what: 'open subscriptions', perVisitor: limits.listenersPerVisitor, inAll: limits.listeners })

  async function open(visit: GatewayVisit, target: GatewayTarget, { id, params, wish }: Asked, leave: () => void): Promise<DirectAnswer> {
    const { server, recheck } = await target.open(visit.signal)
    const handshake = await server.initialized
    const outbox = newOutbox()
    const heard = (notification: RpcNotification) => void outbox.tell(stamped(notification))
    const stamped = ({ method, params: told }: Pick<RpcNotification, 'method' | 'params'>) =>
      notificationText({ method, params: { ...told, _meta: { ...metaOf(told), [SUBSCRIPTION_ID_KEY]: id } } })
    let accepts: Filter = {}
    const client = server.connect({
      ...unenveloped(params).identity,
      onNotification(notification) {
        if (isWanted(accepts, notification)) heard(notification)
      },
    })
    const close = () => {
      client.close()
      outbox.discard()
      leave()
    }
    try {
      accepts = await honoured(wish, handshake, client, visit.signal)
    } catch (error) {
      client.close()
      throw error
    }
    outbox.say(stamped({ method: 'notifications/subscriptions/acknowledged', params: { notifications: accepts } }))
    const goodbye = () => {
      outbox.say(
        answerText(id, {
          result: { resultType: 'complete', _meta: { [SUBSCRIPTION_ID_KEY]: id, [SERVER_INFO_KEY]: handshake.serverInfo } },
        }),
      )
      outbox.end()
    }
    if (Object.keys(accepts).length === 0) goodbye()
    else void server.ended.then(goodbye)
    return eventResponse({ outbox, visit, keepAliveMs: limits.keepAliveMs, recheck, onEnd: close })
  }

  return {
    get size() {
      return counts.size
    },
    async open(visit, target, message) {
      const { id, params } = message
      const wish = params?.['notifications']
      if (!isFilter(wish)) return refuse(visit, { status: 200, code: INVALID_PARAMS, message: 'notifications: must be a filter' }, id)
      let leave = () => {}
      try {
        // Before anything is waited for, so that those who come at once are counted too.
        leave = counts.enter(target.visitor)
        return await open(visit, target, { id, params, wish }, leave)
      } catch (error) {
        leave()
        return jsonAnswer(answerText(id, errorReply(visit, error)), 200, visit.requestId)
      }
    },
  }
}

/** Only what the server can tell, and only those resources that it lets itself be asked for. */
async function honoured(wish: JsonObject, { capabilities }: Handshake, client: SharedClient, signal: AbortSignal): Promise<Filter> {
  const lists = LISTS.filter(([feature, name]) => wish[name] === true && offers(capabilities, feature, 'listChanged'))
  const uris = offers(capabilities, 'resources', 'subscribe') ? urisOf(wish) : []
  const subscribed: string[] = []
  for (const uri of uris) {
    if (signal.aborted) break
    const reply = await client.request({ method: 'resources/subscribe', params: { uri } })
    if ('result' in reply) subscribed.push(uri)
  }
  return {
    ...Object.fromEntries(lists.map(([, name]) => [name, true] as const)),
    ...(subscribed.length === 0 ? {} : { resourceSubscriptions: subscribed }),
  }
}

function isWanted(filter: Filter, { method }: RpcNotification): boolean {
  // Those of resources that it did not subscribe to never come here.
  if (method === 'notifications/resources/updated') return filter.resourceSubscriptions !== undefined
  return LISTS.some(([feature, name]) => method === `notifications/${feature}/list_changed` && filter[name] === true)
}

function isFilter(wish: unknown): wish is JsonObject {
  return isObject(wish) && (wish['resourceSubscriptions'] === undefined || Array.isArray(wish['resourceSubscriptions']))
}

function urisOf({ resourceSubscriptions = [] }: JsonObject): readonly string[] {
  const uris: unknown[] = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []
  return [...new Set(uris.filter((uri) => typeof uri === 'string'))]
}

function offers(capabilities: JsonObject, feature: string, what: string): boolean {
  const offered = capabilities[feature]
  return isObject(offered) && offered[what] === true
}
