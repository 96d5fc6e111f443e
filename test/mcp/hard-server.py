"""An MCP server on pipes whose tools do what servers should not do, each one thing. Without dependencies: every box has Python.

MOOD in its environment: `hangs` answers nothing, `dies` ends at once.
"""
import json, os, subprocess, sys, threading

MOOD = os.environ.get("MOOD")
writing = threading.Lock()
cancelled = {}


def put(text):
    with writing:
        sys.stdout.write(text)
        sys.stdout.flush()


def say(message):
    put(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def notify(given):
    for n in range(given["count"]):
        say({"method": "notifications/message", "params": {"level": "info", "data": {"n": n, "padding": "x" * given.get("padding", 0)}}})
    return "told"


def garbage(_given):
    put('this is no message\n{"nor": "this"}\n[]\n\x00\x1b[31m\n')
    return "printed"


def endless(given):
    for _ in range(given["bytes"] // 65536):
        put("y" * 65536)
    put("\n")
    return "printed"


def flood(given):
    for n in range(given["lines"]):
        print(f"complaint {n} " + "z" * 1000, file=sys.stderr)
    return "complained"


def fork(_given):
    for _ in range(3):
        subprocess.Popen(["sleep", "86391"], start_new_session=True)
    subprocess.run(["sh", "-c", "(setsid sleep 86392 &) ; trap '' TERM HUP; (sleep 86393 &)"])
    os._exit(0)


TOOLS = {
    "echo": lambda given: given["said"],
    "pid": lambda _: str(os.getpid()),
    "big": lambda given: "x" * given["bytes"],
    "notify": notify,
    "garbage": garbage,
    "endless": endless,
    "flood": flood,
    "die": lambda given: os._exit(given["code"]),
    "fork": fork,
    "waiting": lambda _: json.dumps({"waiting": len(cancelled) - sum(each.is_set() for each in cancelled.values()), "cancelled": sum(each.is_set() for each in cancelled.values())}),
}


def call(id, name, given):
    if name == "hang":
        cancelled[id] = threading.Event()
        return
    say({"id": id, "result": {"content": [{"type": "text", "text": TOOLS[name](given)}]}})


def answer(id, method, params):
    if method == "initialize":
        offered = {"tools": {}, "logging": {}}
        say({"id": id, "result": {"protocolVersion": params["protocolVersion"], "capabilities": offered, "serverInfo": {"name": "hard", "version": "1"}}})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in [*TOOLS, "hang"]]}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, params["name"], params.get("arguments", {})), daemon=True).start()
    elif method in ("ping", "logging/setLevel"):
        say({"id": id, "result": {}})
    else:
        say({"id": id, "error": {"code": -32601, "message": "no such method"}})


if MOOD == "dies":
    print("there is no such database", file=sys.stderr, flush=True)
    sys.exit(7)
if MOOD == "hangs":
    subprocess.Popen(["sleep", "86394"], start_new_session=True)

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "notifications/cancelled":
        if message["params"]["requestId"] in cancelled:
            cancelled[message["params"]["requestId"]].set()
    elif "id" in message and "method" in message and MOOD != "hangs":
        answer(message["id"], message["method"], message.get("params", {}))
