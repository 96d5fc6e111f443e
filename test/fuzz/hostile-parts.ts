/**
 * Parts of requests that are huge, broken or tricks: bodies, headers, ids, queries and methods.
 */
import fc from 'fast-check'

const DEEP = 20_000
const HUGE_BYTES = 3 * 1024 * 1024
const MANY = 3_000

/** Bodies that are no good JSON, or more of it than anybody needs. */
export const BODIES: readonly (readonly [what: string, bytes: Uint8Array])[] = [
  ['huge', Buffer.from(`{"command":"${'a'.repeat(HUGE_BYTES)}"}`)],
  ['deep lists', Buffer.from(`${'['.repeat(DEEP)}${']'.repeat(DEEP)}`)],
  ['deep objects', Buffer.from(`${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`)],
  ['deep field', Buffer.from(`{"metadata":${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}}`)],
  ['not closed', Buffer.from('{"command":"true"')],
  ['NUL', Buffer.from('{"command":"true\0"}')],
  ['NUL alone', Buffer.from('\0')],
  ['lone surrogate', Buffer.from('{"command":"\\ud800","session":"\\udfff"}')],
  ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ['overlong UTF-8', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
  ['byte order mark', Buffer.from('\ufeff{}')],
  ['UTF-16', Buffer.from('{"command":"true"}', 'utf16le')],
  ['fields twice', Buffer.from('{"command":"true","command":"echo hello","key":"fuzz","key":"another"}')],
  ['own prototype', Buffer.from('{"__proto__":{"command":"true"},"constructor":{"prototype":{"a":1}}}')],
  ['numbers beyond', Buffer.from('{"wait_ms":1e999,"timeout_ms":-1e999,"expected_incarnation":99999999999999999999}')],
  ['many fields', Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`f${index}`, index]))))],
  [
    'many variables',
    Buffer.from(
      JSON.stringify({
        scope: 'chat',
        variables: Object.fromEntries(Array.from({ length: MANY }, (_, i) => [`v${i}`, '1'])),
        command: 'true',
      }),
    ),
  ],
  ['form', Buffer.from('command=true&session=fuzz')],
  ['list', Buffer.from('[]')],
  ['null', Buffer.from('null')],
  ['text', Buffer.from('"command"')],
  ['number', Buffer.from('1')],
  ['white space', Buffer.from('   \n ')],
  ['nothing', Buffer.from('')],
]

export const CONTENT_TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  '',
  'a',
  '*/*',
  'application/xml',
]

/** Every octet that a header may carry. */
export const GARBAGE = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '""',
    '*',
    '\\',
    ',,,',
    ';',
    '-1',
    '0',
    '9'.repeat(400),
    'a'.repeat(9_000),
    '\xff\xfe',
    '\u0080',
    '"',
    "'",
    '%00',
    '../',
    '<script>',
  ),
  fc
    .string({
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .filter((code) => code !== 0x7f)
        .map((code) => String.fromCharCode(code)),
      maxLength: 40,
    })
    .map((text) => text.trim()),
)

export const HEADER_NAMES = [
  ...[
    'idempotency-key',
    'if-match',
    'if-none-match',
    'if-range',
    'range',
    'last-event-id',
    'accept',
    'accept-language',
    'accept-encoding',
    'content-range',
  ],
  ...[
    'x-holdfast-on-behalf-of',
    'x-holdfast-groups',
    'x-holdfast-tenant',
    'x-forwarded-for',
    'x-request-id',
    'origin',
    'host',
    'authorization',
    'x-api-key',
  ],
  ...[
    'content-encoding',
    'cookie',
    'traceparent',
    'tracestate',
    'access-control-request-method',
    'x-http-method-override',
    'if-modified-since',
    'upgrade',
    'expect',
  ],
]

export const RANGES = [
  'bytes=',
  'bytes=-',
  'bytes=a-b',
  'bytes=5-1',
  'bytes=-0',
  'bytes=0-0,2-3',
  'lines=1-2',
  'bytes=9999999999999999999-',
  'bytes=0-99999999999999999999999',
  'bytes = 0 - 1',
  'bytes=0x1-',
]
export const VERSIONS = ['7', 'W/"7"', '"7', '"-1"', '"1", "2"', '"99999999999999999999"', '"a"', '""', '"*"', '"1.5"', '"0x1"']

export const IDS = [
  ...[
    '..%2f..%2fhealthz',
    '%2e%2e',
    '..',
    '.',
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '%00',
    '%ff',
    '%',
    '%zz',
    '%e2%82',
    '%0d%0aX-Injected:%201',
  ],
  ...[
    'a'.repeat(5_000),
    '%F0%9F%98%80',
    '%20',
    '*',
    ':id',
    '{id}',
    '@@session@@%00',
    '@@session@@/',
    '@@session@@%2f',
    '@@session@@;a=b',
    '@@session@@.json',
  ],
  ...[
    "'%20OR%201=1--",
    '@@foreign_session@@',
    '@@key@@',
    '@@tenant@@',
    '__proto__',
    'constructor',
    'SES_@@session@@',
    '@@ended_session@@',
    '-1',
    '0',
  ],
]
export const QUERIES = [
  '?',
  '&',
  '=',
  '=&=',
  'a',
  'path',
  'path=',
  'path=%00',
  'path=a&path=b',
  '%',
  'path=%zz',
  'path=%ff%fe',
  '__proto__=1',
  'page_size=1&page_size=2',
  'page_size=1e3',
  'page_size=-1',
  'page_size=',
  'page_token=..',
  'after=-1',
  'after=99999999999999999999',
  'path=..%2f..%2f..%2fetc%2fshadow',
  'path=%2fproc%2f1%2froot%2fetc',
  'path=a%0d%0ab',
  'state=',
  'state=idle,,',
  'label=a',
  'label=%3d',
  'depth=0',
  'limit=0',
  'mode=9999',
  'mode=-1',
  'lang=xx-%00',
  `path=${'a%2f'.repeat(2_000)}`,
  `path=${'a'.repeat(4_097)}`,
  'a=b&'.repeat(MANY),
]
export const METHODS = ['HEAD', 'OPTIONS', 'PROPFIND', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'get']
