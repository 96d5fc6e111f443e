/**
 * A small MCP server in Python without dependencies, which every box has, as a configuration.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { McpServerConfig } from '@holdfast/protocol/mcp'
import type { McpServerConfigInput } from '@holdfast/protocol/mcp'

/** Greets a second client with an error, so that whoever greets it twice is found out. */
export const SMALL_PROGRAM = `
import json, os, subprocess, sys, time

greeted = False
calls = 0

def say(message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

def text(value):
    return {"content": [{"type": "text", "text": str(value)}]}

print("complaint at start", file=sys.stderr, flush=True)
if os.environ.get("MOOD") == "dies":
    print("there is no such database", file=sys.stderr, flush=True)
    sys.exit(7)
if os.environ.get("MOOD") == "prints":
    print("listening on nothing", flush=True)
if os.environ.get("MOOD") == "leaves-child":
    subprocess.Popen(["sleep", "86399"])

for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if id is None:
        continue
    if os.environ.get("MOOD") == "hangs":
        continue
    def answer(result):
        say({"jsonrpc": "2.0", "id": id, "result": result})
    if method == "initialize":
        if greeted:
            say({"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": "greeted twice"}})
            continue
        greeted = True
        version = message["params"]["protocolVersion"]
        answer({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "small", "version": "1"}})
    elif method == "ping":
        answer({})
    elif method == "tools/list":
        names = ["pid", "count", "env", "where", "die"]
        answer({"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
    elif method == "tools/call":
        calls += 1
        name = message["params"]["name"]
        if name == "pid":
            answer(text(os.getpid()))
        elif name == "count":
            answer(text(calls))
        elif name == "env":
            answer(text(os.environ.get("TOKEN", "")))
        elif name == "where":
            answer(text(os.getcwd()))
        elif name == "die":
            print("told to die", file=sys.stderr, flush=True)
            sys.exit(9)
        else:
            say({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such tool"}})
    else:
        say({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
print("farewell", file=sys.stderr, flush=True)
`

export function smallServer({ box, ...rest }: Partial<McpServerConfigInput> = {}): McpServerConfig {
  return McpServerConfig.parse({ command: 'python3', args: ['-u', '-c', SMALL_PROGRAM], box: { network: 'off', ...box }, ...rest })
}
