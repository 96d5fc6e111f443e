"""The published Box client of LangBot, unmodified, driven by JSON lines.

One order a line on stdin, one answer a line on stdout, in any order. Each order has a `number`, which its answer repeats; an answer has a
`value`, or an `error` with the name of the exception's class and its text. Clients and relays have names, so one driver can be several.
"""

import asyncio
import base64
import inspect
import json
import logging
import sys

import websockets
from langbot_plugin.box import models
from langbot_plugin.box.client import ActionRPCBoxClient
from langbot_plugin.entities.io.actions.enums import CommonAction
from langbot_plugin.runtime.io.controllers.stdio.client import StdioClientController
from langbot_plugin.runtime.io.controllers.ws.client import WebSocketClientController
from langbot_plugin.runtime.io.handler import Handler

try:
    from langbot_plugin.entities.io.context import ActionContext
except ImportError:  # the older generation knows no workspaces
    ActionContext = None

PROCESS_METHODS = {"start_managed_process"}
clients = {}
controllers = {}
relays = {}


async def connect(client, url=None, headers=None, command=None, args=(), env=None):
    """Opens a transport as LangBot does, and greets with a ping."""
    ready = asyncio.get_running_loop().create_future()

    async def connected(connection):
        handler = Handler(connection)
        ready.set_result(handler)
        await handler.run()

    async def failed(_controller, problem=None):
        if not ready.done():
            ready.set_exception(problem or ConnectionError("no connection"))

    if command is not None:
        controller = StdioClientController(command, list(args), env)
    elif "additional_headers" in inspect.signature(WebSocketClientController).parameters:
        controller = WebSocketClientController(url, failed, additional_headers=headers)
    else:
        controller = WebSocketClientController(url, failed)
    running = asyncio.create_task(controller.run(connected))
    await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        raise running.exception() or ConnectionError("no connection")
    rpc = ActionRPCBoxClient(logging.getLogger("box"))
    rpc.set_handler(ready.result())
    clients[client] = rpc
    controllers[client] = (controller, running)
    await ping(client)


async def ping(client):
    return await clients[client].handler.call_action(CommonAction.PING, {}, timeout=15)


def read(method, name, value):
    """JSON has neither models nor bytes."""
    if name == "spec":
        return (models.BoxManagedProcessSpec if method in PROCESS_METHODS else models.BoxSpec).model_validate(value)
    if name == "grant":
        return models.SandboxAdmissionGrant.model_validate(value)
    if name == "revocation":
        return models.SandboxAdmissionRevocation.model_validate(value)
    return base64.b64decode(value) if name == "file_bytes" else value


def shown(value):
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


async def call(client, method, args=None, context=None):
    """Any method of the client, by its name and the names of its parameters."""
    given = {name: read(method, name, value) for name, value in (args or {}).items()}
    if context is not None:
        given["action_context"] = ActionContext(**context)
    result = getattr(clients[client], method)(**given)
    return shown(await result if inspect.isawaitable(result) else result)


async def shutdown(client):
    """The client forgets its connection with it, which goes on."""
    handler = clients[client].handler
    await clients[client].shutdown()
    clients[client].set_handler(handler)


async def drop(client):
    """Lets the connection break without a word."""
    clients[client].handler.conn.websocket.transport.abort()
    await controllers[client][1]


async def lost(client):
    """Resolves when the server has left."""
    await asyncio.wait([controllers[client][1]])


async def leave(client):
    controller, running = controllers.pop(client)
    await clients.pop(client).handler.conn.close()
    if hasattr(controller, "close"):
        await controller.close()
    await asyncio.wait([running])


async def attach(relay, url, headers=None):
    """As LangBot's transport for MCP servers does."""
    socket = await websockets.connect(url, subprotocols=["mcp"], additional_headers=headers, proxy=None)
    relays[relay] = socket
    return socket.subprotocol


async def send(relay, text):
    await relays[relay].send(text)


async def receive(relay):
    return await relays[relay].recv()


async def until_closed(relay):
    await relays[relay].wait_closed()
    return relays[relay].close_code


async def detach(relay):
    await relays.pop(relay).close()


ORDERS = {each.__name__: each for each in (connect, ping, call, shutdown, drop, lost, leave, attach, send, receive, until_closed, detach)}


async def obey(number, do, **order):
    try:
        answer = {"number": number, "value": await ORDERS[do](**order)}
    except Exception as problem:  # whatever the client raises is the answer
        answer = {"number": number, "error": {"class": type(problem).__name__, "message": str(problem)}}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def main():
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while line := await reader.readline():
        task = asyncio.create_task(obey(**json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    for controller, _ in controllers.values():
        if hasattr(controller, "close"):
            await controller.close()


asyncio.run(main())
