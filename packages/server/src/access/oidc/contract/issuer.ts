/**
 * A real issuer on loopback, for tests: signs tokens, offers its keys, changes them, breaks.
 *
 * ingress → [access] → policy → sessions → sandboxes → guest → result
 */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { CryptoKey, JWK, JWTPayload } from 'jose'

export interface SigningKey {
  readonly kid: string
  readonly algorithm: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  readonly jwk: JWK
}

export type Issuer = Awaited<ReturnType<typeof openIssuer>>

export async function newKey(kid: string, algorithm = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  return { kid, algorithm, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' } }
}

/** `clock` as of the server that reads the tokens, so that they can be made good, old and early for it. */
export async function openIssuer(clock: () => number) {
  const first = await newKey('first')
  const state = {
    keys: [first] as readonly SigningKey[],
    /** Answers instead of the issuer. */
    instead: null as ((path: string, answer: ServerResponse) => boolean) | null,
    asked: [] as string[],
  }
  const server = createServer((request, answer) => {
    const path = request.url ?? ''
    state.asked.push(path)
    if (state.instead?.(path, answer) === true) return
    if (path === '/.well-known/openid-configuration') answer.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, other: 1 }))
    else if (path === '/keys') answer.end(JSON.stringify({ keys: state.keys.map(({ jwk }) => jwk) }))
    else answer.writeHead(404).end()
  })
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const now = () => Math.floor(clock() / 1000)
  const good = (): JWTPayload => ({ iss: url, aud: 'holdfast', sub: 'alice', iat: now(), exp: now() + 300 })

  return {
    url,
    state,
    first,
    now,
    /** A good token, with these claims instead; one that is `undefined` is left out. */
    sign(claims: JWTPayload = {}, key: SigningKey = first, header: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const payload = Object.fromEntries(Object.entries({ ...good(), ...claims }).filter(([, value]) => value !== undefined))
      return new SignJWT(payload).setProtectedHeader({ alg: key.algorithm, kid: key.kid, ...header }).sign(key.privateKey)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    },
  }
}
