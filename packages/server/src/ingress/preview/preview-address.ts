/**
 * Where web apps inside are reached: below `/preview/` for programs, and under hosts of their own for browsers.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 *
 * Every name below localhost, or below the domain of previews, is a host of this door and of no other, whether or not it is a link. So no
 * page from a sandbox shares its origin with the API or with another sandbox: docs/adr/0018-previews.md
 */
import type { IncomingMessage } from 'node:http'

export const PREVIEW_ROUTE = '/preview/{session}/{port}'

const BELOW_PREVIEW = /^\/preview\/([^/?#]+)\/([^/?#]+)(?=[/?]|$)/
const HERE = 'localhost'

/** What a request asks for, before any of it is believed. */
export type Asked =
  | { readonly form: 'link'; readonly label: string; readonly prefix: ''; readonly path: string }
  | { readonly form: 'path'; readonly session: string; readonly port: string; readonly prefix: string; readonly path: string }

export interface PreviewAddresses {
  /** `null`: it is for another door. */
  read(request: Pick<IncomingMessage, 'headers' | 'url'>): Asked | null
  linkOf(label: string): string
  /** `https:` where a proxy in front of the server speaks it. */
  schemeOf(asked: Asked): 'http' | 'https'
}

export interface PreviewAddressesNeeds {
  readonly publicUrl: string | null
  readonly domain: string | null
  /** Where the server listens; known once it does. */
  port(): number
}

export function previewAddresses({ publicUrl, domain, port }: PreviewAddressesNeeds): PreviewAddresses {
  const outside = publicUrl !== null && URL.canParse(publicUrl) ? new URL(publicUrl) : null
  const scheme = outside?.protocol === 'https:' ? 'https' : 'http'
  const hosts = [HERE, ...(domain === null ? [] : [domain])]

  function labelOf(host: string | undefined): string | null {
    const name = (host ?? '').replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
    // The server's own name may lie below the domain, or below localhost.
    if (name === outside?.hostname) return null
    const parent = hosts.find((each) => name.endsWith(`.${each}`))
    return parent === undefined ? null : name.slice(0, -parent.length - 1)
  }

  return {
    read({ headers, url = '/' }) {
      const label = labelOf(headers.host)
      if (label !== null) return { form: 'link', label, prefix: '', path: url }
      const [prefix, session = '', inner = ''] = BELOW_PREVIEW.exec(url) ?? []
      if (prefix === undefined) return null
      const rest = url.slice(prefix.length)
      return { form: 'path', session, port: inner, prefix, path: rest.startsWith('/') ? rest : `/${rest}` }
    },
    linkOf(label) {
      if (domain === null) return `http://${label}.${HERE}:${port()}/`
      // What stands before the server is reached at the port of its public address.
      const at = outside === null ? `:${port()}` : outside.port === '' ? '' : `:${outside.port}`
      return `${scheme}://${label}.${domain}${at}/`
    },
    schemeOf: ({ form }) => (form === 'link' && domain === null ? 'http' : scheme),
  }
}
