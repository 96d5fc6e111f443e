"""Keeps schemathesis harmless and lets it reach further: only small commands, no waiting, no address of anybody, ids that exist.

HOLDFAST_FUZZ_WORLD names a file with the ids and keys of now; whoever runs this keeps it current.
"""

import json
import os
import random

import schemathesis

COMMANDS = ["true", "echo hello"]
LIMITS = {"wait_ms": 2000, "grace_ms": 50, "drain_seconds": 1}
ADMINISTRATION = ("/v1/tenants", "/v1/keys", "/v1/webhooks", "/v1/audit", "/metrics", "/v1/sandboxes")
PATHS = [".", "/workspace", "a.txt", "folder", "folder/b.txt", "/tmp/c"]


def world():
    with open(os.environ["HOLDFAST_FUZZ_WORLD"], encoding="utf-8") as file:
        return json.load(file)


@schemathesis.hook
def before_call(context, case, kwargs):
    now = world()
    path = case.operation.path
    if isinstance(case.body, dict):
        tame(case.body)
    if random.random() < 0.7:
        name_what_exists(case, path, now["ids"])
    # Whoever tries without a key, or with a wrong one, is to go on without the right one.
    member, admin = (f"Bearer {now['keys'][name]}" for name in ("member", "admin"))
    for headers in (case.headers, kwargs.get("headers")):
        if headers is not None and headers.get("Authorization") == member and path.startswith(ADMINISTRATION):
            headers["Authorization"] = admin


@schemathesis.serializer("application/x-tar", "application/gzip")
def raw_bytes(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def tame(body):
    """Only what would be accepted is changed, so that what is wrong stays wrong."""
    if isinstance(body.get("command"), str) and body["command"] and "\0" not in body["command"]:
        body["command"] = random.choice(COMMANDS)
    if isinstance(body.get("argv"), list) and body["argv"] and all(isinstance(word, str) for word in body["argv"]):
        body["argv"] = ["true"]
    if isinstance(body.get("url"), str) and body["url"]:
        body["url"] = "http://127.0.0.1:9/"
    for name, most in LIMITS.items():
        if isinstance(body.get(name), int) and not isinstance(body[name], bool) and most < body[name] <= 3600 * 1000:
            body[name] = most


def name_what_exists(case, path, ids):
    """Ids by the word before them in the path."""
    words = path.split("/")
    for index, word in enumerate(words):
        if word.startswith("{") and isinstance((case.path_parameters or {}).get(word[1:-1]), str):
            known = ids.get(words[index - 1])
            if known:
                case.path_parameters[word[1:-1]] = random.choice(known)
    if isinstance((case.query or {}).get("path"), str) and case.query["path"] and "\0" not in case.query["path"]:
        case.query["path"] = random.choice(PATHS)
