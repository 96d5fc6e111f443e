"""The official Python client, unmodified, driven by JSON lines.

One order a line on stdin, one answer a line on stdout, in any order. Each order has a `number`, which its answer repeats; an answer has a
`value` or an `error`, or tells of `progress` before them. Results are the wire shapes of the protocol. Clients have names, so one driver
can be several.
"""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

clients = {}


class Opened:
    """A client is entered and left by the same task, which the library asks for."""

    def __init__(self, url, headers, mode):
        self.url, self.headers, self.mode = url, headers, mode
        self.leaving = asyncio.Event()
        self.ready = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self.live())

    async def live(self):
        try:
            # As patient as the library's own, which takes no headers.
            timeout = httpx2.Timeout(30, read=300)
            async with httpx2.AsyncClient(headers=self.headers, timeout=timeout) as http:
                async with Client(streamable_http_client(self.url, http_client=http), mode=self.mode) as client:
                    self.ready.set_result(client)
                    await self.leaving.wait()
        except BaseException as error:
            if self.ready.done():
                raise
            self.ready.set_exception(error)

    async def close(self):
        self.leaving.set()
        await self.task


async def obey(number, do, client, **order):
    match do:
        case "open":
            clients[client] = Opened(**order)
            await clients[client].ready
            return None
        case "close":
            return await clients.pop(client).close()
        case "ask":
            return await ask(number, clients[client].ready.result(), **order)
    raise ValueError(f"unknown order {do}")


async def ask(number, client, method, params, watched):
    async def heard(progress, total, _message):
        say({"number": number, "progress": {"progress": progress, "total": total}})

    match method:
        case "tools/list":
            result = await client.list_tools()
        case "tools/call":
            result = await client.call_tool(**params, progress_callback=heard if watched else None)
        case "resources/list":
            result = await client.list_resources()
        case "resources/read":
            result = await client.read_resource(**params)
        case "prompts/list":
            result = await client.list_prompts()
        case "prompts/get":
            result = await client.get_prompt(**params)
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def answer(order):
    try:
        say({"number": order["number"], "value": await obey(**order)})
    except Exception as error:
        say({"number": order["number"], "error": f"{type(error).__name__}: {error!r}"})


async def main():
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running = set()
    while line := await reader.readline():
        task = asyncio.create_task(answer(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)


asyncio.run(main())
