"""A quick tour with Python's standard library: run, keep, stream, files, a command in the background that is followed.

    python3 examples/python/quick_tour.py

It prints:

    group_123456: 42
    the next command finds: hello
    stdout: one
    stderr: two
    exit code: 3
    up and down again, byte for byte: True
    followed: tick
    followed: tock
    it ended: completed
    a mistake is told by its code: invalid_request, colour: is not a known field
"""

import json
import os
import pathlib
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("HOLDFAST_URL", "http://127.0.0.1:5410")
HOME = pathlib.Path(os.environ.get("HOLDFAST_HOME", pathlib.Path.home() / ".holdfast"))
KEY = os.environ.get("HOLDFAST_API_KEY") or (HOME / "admin.key").read_text().strip()
CHAT = {"scope": "chat", "variables": {"launcher_type": "group", "launcher_id": "123456"}}


class Problem(Exception):
    """What the server refused; compare `code`, never the text."""

    def __init__(self, document):
        super().__init__(document["title"])
        self.code = document["code"]


def call(method, route, body=None, accept="application/json", **query):
    """One request. A `dict` goes as JSON, bytes go as they are; the answer is open and can be read bit by bit."""
    address = f"{URL}{route}?{urllib.parse.urlencode(query)}"
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = {"Authorization": f"Bearer {KEY}", "Accept": accept, "Content-Type": "application/octet-stream"}
    if isinstance(body, dict):
        headers["Content-Type"] = "application/json"
    try:
        return urllib.request.urlopen(urllib.request.Request(address, data, headers, method=method))
    except urllib.error.HTTPError as error:
        raise Problem(json.load(error)) from error


def post(route, body):
    with call("POST", route, body) as answer:
        return json.load(answer)


def events(method, route, body=None, **query):
    """Server-sent events as they come: pairs of a name and its data."""
    with call(method, route, body, accept="text/event-stream", **query) as answer:
        name = "message"
        for line in answer:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)


first = post("/v1/exec", {**CHAT, "argv": ["python3", "-c", "print(6*7)"]})
session = f"/v1/sessions/{first['session']['id']}"
print(f"{first['session']['key']}: {first['stdout'].strip()}")

post("/v1/exec", {**CHAT, "command": "echo hello > note.txt"})
again = post("/v1/exec", {**CHAT, "command": "cat note.txt"})
print(f"the next command finds: {again['stdout'].strip()}")

# Leaving this loop early would kill the command: whoever runs it this way attends it.
for name, data in events("POST", "/v1/exec", {**CHAT, "command": "echo one; sleep 0.2; echo two >&2; exit 3"}):
    if name in ("stdout", "stderr"):
        print(f"{name}: {data['data'].strip()}")
    elif name == "exit":
        print(f"exit code: {data['exit_code']}")

content = bytes(range(256)) * 4000
call("PUT", f"{session}/files", content, path="data/bytes.bin").close()
with call("GET", f"{session}/files", accept="*/*", path="data/bytes.bin") as answer:
    print(f"up and down again, byte for byte: {answer.read() == content}")

# Left running: anybody who may see the session can follow it, leave, and come back with `after`.
started = post(f"{session}/executions", {"command": "echo tick; sleep 0.5; echo tock"})
for name, data in events("GET", f"{session}/executions/{started['execution_id']}/output", after=0):
    if name == "stdout":
        print(f"followed: {data['data'].strip()}")
    elif name == "exit":
        print(f"it ended: {data['status']}")

try:
    post("/v1/sessions", {"key": "x", "colour": "red"})
except Problem as problem:
    print(f"a mistake is told by its code: {problem.code}, {problem}")

post(f"{session}/release", {})
