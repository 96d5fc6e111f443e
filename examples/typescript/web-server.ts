/**
 * A web server in the sandbox: it stays when the program that started it leaves, and its output can be followed from anywhere.
 *
 *     node examples/typescript/web-server.ts
 *
 * It prints (… is anything):
 *
 *     web is running
 *     it says: Serving HTTP on … port 8000 …
 *     the page: hello from the sandbox
 *     it says: … "GET / HTTP/1.1" 200 -
 *     stopped, and nothing of it runs any more: true
 */
import { Holdfast } from '@holdfast/sdk'
import { linesOf } from './lines.ts'

const holdfast = new Holdfast()

// One program starts it…
{
  await using session = await holdfast.sessions.getOrCreate({ key: 'web-server' })
  await session.files.write('site/index.html', 'hello from the sandbox\n')
  const started = await session.processes.start('web', 'exec python3 -u -m http.server 8000', { cwd: '/workspace/site' })
  console.log(`web is ${started.status}`)
}

// …and another one, here or elsewhere, finds it by its name. While it runs, the session does not idle out.
await using session = await holdfast.sessions.getOrCreate({ key: 'web-server', release: 'on-dispose' })
const web = await session.processes.get('web')
const log = linesOf(web.execution.output())
console.log(`it says: ${await next(log)}`)

// It listens now. The sandbox has a network of its own, so the request is made inside.
const page = await session.commands.run([
  'python3',
  '-c',
  'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8000").read().decode())',
])
console.log(`the page: ${page.stdout.trim()}`)
console.log(`it says: ${await next(log)}`)

const { verified } = await web.stop()
console.log(`stopped, and nothing of it runs any more: ${verified}`)

async function next(from: AsyncGenerator<string, void>): Promise<string> {
  return (await from.next()).value ?? 'nothing more'
}
