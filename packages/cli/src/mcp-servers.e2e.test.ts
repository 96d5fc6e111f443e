/** `holdfast mcp add|ls|call|…` against a real server: what is printed, what is changed, and what takes long is told. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onBubblewrap } from './contract/on-bubblewrap.ts'

/** Answers what it is asked, in as few lines as possible. */
const PROGRAM = `
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params", {})
    if "id" not in asked: continue
    if method == "initialize":
        answer = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}
    elif method == "tools/list":
        answer = {"tools": [{"name": "say", "description": "says it again", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        text = params["arguments"].get("text")
        answer = {"content": [{"type": "text", "text": text or "nothing was said"}], "isError": text is None}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
`

onBubblewrap('MCP servers', (stage) => {
  let here = ''
  beforeAll(() => {
    here = mkdtempSync(join(tmpdir(), 'holdfast-mcp-cli-'))
  })
  afterAll(() => rmSync(here, { recursive: true, force: true }))
  const holdfast = (args: readonly string[], input = '') => stage().server.holdfast(args, input)

  test('one is added, called in a session, looked at, and removed', async () => {
    const added = await holdfast(['mcp', 'add', 'tiny', '-e', 'TOKEN=hunter2', '--', 'python3', '-u', '-c', PROGRAM])
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^NAME +SCOPE +STATE +COMMAND\ntiny +session +- +python3/) })
    expect(await holdfast(['mcp', 'inspect', 'tiny'])).toMatchObject({ code: 0, stderr: expect.stringContaining('--session') })
    expect(await holdfast(['mcp', 'logs', 'tiny'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('nothing of tiny'),
    })
    const called = await holdfast(['mcp', 'call', 'tiny', 'say', '{"text":"hello"}', '--session', 'talk'])
    expect(called).toMatchObject({ code: 0, stdout: 'hello\n', stderr: expect.stringContaining('ready') })
    expect(await holdfast(['mcp', 'call', 'tiny', 'say', '--session', 'talk'])).toMatchObject({ code: 1, stdout: 'nothing was said\n' })
    const whole = await holdfast(['mcp', 'call', 'tiny', 'say', '-', '--session', 'talk', '-o', 'json'], '{"text":"é"}')
    expect(JSON.parse(whole.stdout)).toEqual({ content: [{ type: 'text', text: 'é' }], isError: false })
    expect((await holdfast(['mcp', 'ls'])).stdout).toMatch(/\ntiny +session +1 ready/)
    const shown = (await holdfast(['mcp', 'inspect', 'tiny', '--session', 'talk'])).stdout
    expect(shown).toMatch(/environment +TOKEN\n/)
    expect(shown).toMatch(/TOOL +DESCRIPTION\nsay +says it again\n/)
    expect(shown).toMatch(/\ntalk +ready +runtime +answering +ses_/)
    expect(shown).not.toContain('hunter2')
    const data = JSON.parse((await holdfast(['mcp', 'inspect', 'tiny', '--session', 'talk', '-o', 'json'])).stdout)
    expect(data).toMatchObject({ env_keys: ['TOKEN'], tools: {}, offered: [{ name: 'say', inputSchema: {} }], runs: [{ state: 'ready' }] })
    expect(JSON.parse((await holdfast(['mcp', 'inspect', 'tiny', '-o', 'json'])).stdout)).toMatchObject({ tools: {}, offered: null })
    expect((await holdfast(['mcp', 'logs', 'tiny', '-s', 'talk'])).stdout).toMatch(/holdfast ready\n/)
    expect(await holdfast(['mcp', 'rm', 'tiny'])).toMatchObject({ code: 0 })
    expect(await holdfast(['mcp', 'inspect', 'tiny'])).toMatchObject({ code: 1, stderr: expect.stringContaining('no MCP server "tiny"') })
    expect((await holdfast(['mcp', 'logs', 'tiny'])).stderr).toContain('\n  `holdfast mcp ls` lists the MCP servers')
  })

  test('a file of another program is taken as it is, with its comments; what cannot be is refused by its field', async () => {
    const file = join(here, 'mcp.json')
    writeFileSync(file, '{\n  // of VS Code\n  "servers": { "one": { "type": "stdio", "command": "true", "args": ["//x"], }, },\n}\n')
    expect(await holdfast(['mcp', 'add', '--file', file, '-q'])).toMatchObject({ code: 0, stdout: 'one\n' })
    writeFileSync(file, '{"mcpServers": {"two": {"url": "https://a.test/mcp"}}}')
    expect(await holdfast(['mcp', 'add', '--file', file])).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('a remote server needs no box') },
    })
    expect(await holdfast(['mcp', 'add', '--file', join(here, 'none.json')])).toMatchObject({ code: 1 })
    expect(await holdfast(['mcp', 'add'])).toMatchObject({ code: 2 })
    expect(await holdfast(['mcp', 'add', 'three'])).toMatchObject({ code: 2, stderr: expect.stringContaining('after --') })
  })

  test('one that cannot start says why, in which phase, and what to do', async () => {
    await holdfast(['mcp', 'add', 'broken', '--', 'no-such-program'])
    const refused = await holdfast(['mcp', 'call', 'broken', 'say', '--session', 'talk'])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('the MCP server "broken"') })
    expect(refused.stderr).toContain('broken: process_start')
    expect(refused.stderr).toContain('\n  The program must be in the box')
  })

  test('one that waits for what a box without a network cannot give says that there is none', async () => {
    const silent = { command: 'sleep', args: ['60'], box: { startup_timeout_sec: 1 } }
    await holdfast(['mcp', 'add', '--file', '-'], JSON.stringify({ mcpServers: { silent } }))
    const cutOff = await holdfast(['mcp', 'call', 'silent', 'say', '--session', 'talk'])
    expect(cutOff).toMatchObject({ code: 1, stderr: expect.stringContaining('\n  The session of this conversation has no network') })
    const online = await holdfast(['mcp', 'call', 'silent', 'say', '--session', 'online', '--profile', 'network_basic'])
    expect(online).toMatchObject({ code: 1, stderr: expect.stringContaining('\n  It must speak MCP on stdin and stdout') })
  })

  test('what a client is to be told names an entry that stays and where the server is, and never the key', async () => {
    const { environment, url, home } = stage().server
    const inClone = { npm_lifecycle_event: 'holdfast', npm_package_json: '/clone/package.json' }
    const told = await stage().server.holdfast(['mcp', 'config', 'cursor'], '', inClone)
    expect(JSON.parse(told.stdout)).toEqual({
      mcpServers: {
        holdfast: {
          ...{ command: process.execPath, args: ['/clone/scripts/run.mjs', 'holdfast', 'mcp', 'serve'] },
          env: { HOLDFAST_URL: url, HOLDFAST_HOME: home },
        },
      },
    })
    expect(told.stderr).toContain('HOLDFAST_API_KEY is set here and not printed')
    expect(told.stdout + told.stderr).not.toContain(environment['HOLDFAST_API_KEY'])
  })

  test('what is not JSON is told by its place, and nothing is asked of the server', async () => {
    expect(await holdfast(['mcp', 'call', 'tiny', 'say', '{"a":\n1,}', '--session', 'talk'])).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('the arguments: must be a JSON object, and is not valid JSON (line 2, column 3)') },
    })
  })
})
