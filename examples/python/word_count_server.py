"""An MCP server on stdin and stdout that counts words in files: what the protocol needs, with nothing but Python's standard library.

It is a part of examples/typescript/mcp-client.ts and of the README. Run in a conversation's box, it sees that conversation's files:

    holdfast cp examples/python/word_count_server.py demo:
    holdfast mcp add words -- python3 /workspace/word_count_server.py
    holdfast mcp call words count '{"path":"/workspace/note.txt"}' --session demo
"""

import json
import sys

TOOL = {
    "name": "count",
    "description": "Count the words in a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def called(arguments):
    try:
        with open(arguments.get("path", ""), encoding="utf-8") as file:
            return {"content": [{"type": "text", "text": f"{len(file.read().split())} words"}]}
    except OSError as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def answer(method, params):
    if method == "initialize":
        about = {"name": "word-count", "version": "1.0.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return called(params.get("arguments", {}))
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification
    result = answer(message["method"], message.get("params", {}))
    told = {"error": {"code": -32601, "message": "method not found"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
