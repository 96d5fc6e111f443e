/**
 * Bytes that are no request of HTTP, or hardly one: what a parser has to refuse before any route sees it.
 */
import fc from 'fast-check'

const HOST = 'Host: 127.0.0.1\r\n'
const LAST = 'Connection: close\r\n\r\n'

const REQUESTS: readonly string[] = [
  `GET /v1/sessions HTTP/1.1\r\n${HOST}X-Bad: a\0b\r\n${LAST}`,
  `GET /v1/sessions\0 HTTP/1.1\r\n${HOST}${LAST}`,
  `GET /v1/sess ions HTTP/1.1\r\n${HOST}${LAST}`,
  `GET /v1/sessions HTTP/9.9\r\n${HOST}${LAST}`,
  `GET /v1/sessions HTTP/1.1\r\n${LAST}`,
  `GET http://127.0.0.1/healthz HTTP/1.1\r\n${HOST}${LAST}`,
  `GET //healthz HTTP/1.1\r\n${HOST}${LAST}`,
  `GET * HTTP/1.1\r\n${HOST}${LAST}`,
  `OPTIONS * HTTP/1.1\r\n${HOST}${LAST}`,
  `CONNECT 127.0.0.1:1 HTTP/1.1\r\n${HOST}${LAST}`,
  `GET  HTTP/1.1\r\n${HOST}${LAST}`,
  `G\u00cbT / HTTP/1.1\r\n${HOST}${LAST}`,
  `get /healthz HTTP/1.1\r\n${HOST}${LAST}`,
  `VERYLONGMETHOD${'A'.repeat(300)} / HTTP/1.1\r\n${HOST}${LAST}`,
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}${LAST}`,
  `GET / HTTP/1.1\r\n${HOST}X-Long: ${'a'.repeat(70_000)}\r\n${LAST}`,
  `GET / HTTP/1.1\r\n${HOST}${'X-Many: a\r\n'.repeat(3_000)}${LAST}`,
  `GET / HTTP/1.1\r\n${HOST}Folded: a\r\n b\r\n${LAST}`,
  `GET / HTTP/1.1\r\n${HOST} : a\r\n${LAST}`,
  `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${LAST}`,
  `GET / HTTP/1.1\r\nHost: 127.0.0.1:99999999\r\n${LAST}`,
  `GET / HTTP/1.1\r\nHost: \r\n${LAST}`,
  `GET / HTTP/1.1\r\nHost: [::1\r\n${LAST}`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Content-Length: -1\r\n${LAST}`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Content-Length: 99999999999999999999\r\n${LAST}{}`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 3\r\n${LAST}{}`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n${LAST}0\r\n\r\n`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n${LAST}0\r\n\r\n`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n${LAST}zz\r\n`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n${LAST}ffffffffffffffff\r\na`,
  `POST /v1/exec HTTP/1.1\r\n${HOST}Expect: 200-maybe\r\nContent-Length: 2\r\n${LAST}{}`,
  `GET /v1/sessions/a/terminal HTTP/1.1\r\n${HOST}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
  `GET /healthz HTTP/1.1\r\n${HOST}Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings, close\r\nHTTP2-Settings: a\r\n\r\n`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\r\n\r\n\r\n\r\n',
  'SSH-2.0-OpenSSH_9.9\r\n',
]

/** Some of them with one byte changed. */
export const brokenHttp: fc.Arbitrary<Uint8Array> = fc
  .record({ text: fc.constantFrom(...REQUESTS), place: fc.nat(400), octet: fc.integer({ min: 0, max: 255 }), isChanged: fc.boolean() })
  .map(({ text, place, octet, isChanged }) => {
    const bytes = Buffer.from(text, 'latin1')
    if (isChanged && place < bytes.length) bytes[place] = octet
    return bytes
  })
