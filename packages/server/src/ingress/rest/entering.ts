/**
 * Who asks: the key of a request, and what its holder may see. The same for every door that takes keys.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import type { AuthenticateRequest } from '../../access/authenticate.ts'
import type { ClientAddress } from '../../access/client-address.ts'
import type { Principal } from '../../access/principal.ts'
import type { Admit } from '../../access/rate-limits.ts'
import type { Caller } from '../../sessions/caller.ts'
import type { RequestFacts } from './request-observation.ts'
import type { Entered } from './route.ts'

/** What a door knows of a request before anything else. */
export interface Knock {
  header(name: string): string | undefined
  /** The address at the other end of the connection. */
  readonly peer: string | undefined
  readonly facts: Pick<RequestFacts, 'keyId'>
}

export interface EnteringNeeds {
  readonly authenticate: AuthenticateRequest
  callerOf(principal: Principal): Promise<Caller>
  /** Throws for one who asks too often. */
  readonly admit: Admit
  readonly clientAddress: ClientAddress
}

export interface Entering {
  /** Throws `unauthorized`. */
  enter(knock: Knock): Promise<Entered>
  /** The same, and counts the request. Throws `rate_limited`. */
  comeIn(knock: Knock): Promise<Entered>
}

export function entering({ authenticate, callerOf, admit, clientAddress }: EnteringNeeds): Entering {
  async function enter({ header, peer, facts }: Knock): Promise<Entered> {
    const principal = await authenticate({
      authorization: header('authorization'),
      apiKey: header('x-api-key'),
      onBehalfOf: header('x-holdfast-on-behalf-of'),
      onBehalfOfGroups: header('x-holdfast-groups'),
      tenant: header('x-holdfast-tenant'),
      address: clientAddress(peer, header('x-forwarded-for')),
    })
    facts.keyId = principal.keyId
    return { principal, caller: await callerOf(principal) }
  }
  return {
    enter,
    async comeIn(knock) {
      const entered = await enter(knock)
      admit(entered.principal)
      return entered
    },
  }
}
