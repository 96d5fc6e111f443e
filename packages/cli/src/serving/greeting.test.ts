/** What `up` says: everything a newcomer needs, and nothing twice. */
import { expect, test } from 'vitest'
import { greeting } from './greeting.ts'
import type { Greeted } from './greeting.ts'

const limits = { cpus: true, memory: true, pids: true }
const server: Greeted = {
  url: 'http://127.0.0.1:5410',
  newKey: 'hf_new',
  keyFile: '/home/ana/.holdfast/admin.key',
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is said of it
  chosen: {
    backend: { kind: 'bubblewrap' },
    version: '0.8.0',
    passedOver: [],
    capabilities: { limits, networkOn: true, reasons: {} },
  } as unknown as Greeted['chosen'],
  obstacles: [],
  plane: { recovered: { sessions: 0, reattached: 0, lost: 0 } },
}
const words = { program: 'holdfast', onStop: 'keep', calls: { before: '', after: '' }, isTerminal: true } as const

test('a first start says where it is, the key, and two lines to try', () => {
  expect(greeting(server, words)).toMatchInlineSnapshot(`
    "holdfast is ready at http://127.0.0.1:5410 (backend: bubblewrap 0.8.0)
    admin key, shown only now: hf_new
    the admin key is in the file /home/ana/.holdfast/admin.key
    the API is described at http://127.0.0.1:5410/docs

    Run Python for the chat group_123456, with curl or with this program:
      curl -s http://127.0.0.1:5410/v1/exec -H "Authorization: Bearer $(cat /home/ana/.holdfast/admin.key)" -H 'Content-Type: application/json' -d '{"scope":"chat","variables":{"launcher_type":"group","launcher_id":"123456"},"argv":["python3","-c","print(6*7)"]}'
      holdfast exec --scope chat --var launcher_type=group --var launcher_id=123456 -- python3 -c 'print(6*7)'

    Ctrl-C stops the server; sandboxes and what runs in them go on, and the next start finds them again.
    "
  `)
})

test('the key itself is for terminals: a file or a journal would keep it', () => {
  const text = greeting(server, { ...words, isTerminal: false })
  expect(text).not.toContain('hf_new')
  expect(text).toContain('\nthe admin key is in the file /home/ana/.holdfast/admin.key\n')
})

test('a server that refuses every sandbox is not called ready, and says what to do', () => {
  const text = greeting({ ...server, obstacles: ['memory cannot be limited: start the server as root'] }, words)
  expect(text).not.toContain('is ready')
  expect(text).toContain('NOT READY: sandboxes are refused, because\n  memory cannot be limited: start the server as root\n')
  expect(text).toContain('\nAfter that, run Python')
})

test('the commands that make it ready can be pasted', () => {
  const obstacles = [
    'memory cannot be limited: start it with `systemd-run --user --scope -p Delegate=yes …`',
    'or give up these limits with --limits none',
  ]
  const text = greeting({ ...server, obstacles }, { ...words, program: 'node /clone/scripts/run.mjs holdfast' })
  expect(text).toContain('\n  with limits:    systemd-run --user --scope -p Delegate=yes node /clone/scripts/run.mjs holdfast up\n')
  expect(text).toContain('\n  without limits: node /clone/scripts/run.mjs holdfast up --limits none\n')
})

test('limits that were given up are no reason to complain', () => {
  const capabilities = { limits: { cpus: false, memory: false, pids: false }, networkOn: true, reasons: { memory: 'start it as root' } }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what is said of it
  const chosen = { ...server.chosen, capabilities } as unknown as Greeted['chosen']
  expect(greeting({ ...server, chosen }, words)).not.toContain('as root')
})

test('a later one shows no key, and how much it took up', () => {
  const later = { ...server, newKey: null, plane: { recovered: { sessions: 3, reattached: 2, lost: 1 } } }
  const text = greeting(later, words)
  expect(text).not.toContain('shown only now')
  expect(text).toContain('took up 3 sessions from before: 2 with what ran in them, 1 whose sandbox is gone\n')
})

test('the line to try finds this server, however it was started', () => {
  const text = greeting(server, {
    ...words,
    program: 'npm run -s holdfast --',
    calls: { before: 'HOLDFAST_HOME=/srv ', after: ' --url http://127.0.0.1:8080' },
  })
  expect(text).toContain('\n  HOLDFAST_HOME=/srv npm run -s holdfast -- exec --url http://127.0.0.1:8080 --scope chat')
})
