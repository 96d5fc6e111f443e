"""LangBot's own BoxService, unmodified, in front of a stub of its application, driven by JSON lines.

One order a line on stdin, one answer a line on stdout; both have the same `number`. The service is that of whichever LangBot is installed:
4.10.0 without workspaces, 4.10.8 with them, 4.11.2 with runners that acquire and bind a Box.
"""

import asyncio
import base64
import json
import logging
import sys
import types

import websockets
from langbot.pkg.box.service import BoxService
from langbot_plugin.api.entities.builtin.platform import message as platform_message

try:
    from langbot.pkg.api.http.context import ExecutionContext
except ImportError:  # 4.10.0
    ExecutionContext = None
try:
    from langbot.pkg.box.runner import RunnerBoxService
    from langbot.pkg.provider.tools.loaders.skill import ACTIVATED_SKILLS_KEY, build_execution_mounts
except ImportError:  # before 4.11
    RunnerBoxService = None

INSTANCE = "inst-1"
WORKSPACE = "ws-A"
services = {}
queries = {}
relays = {}


class Workspaces:
    """What LangBot's workspace service answers about the one workspace there is."""

    instance_uuid = INSTANCE

    async def get_execution_binding(self, workspace_uuid, expected_generation=None):
        return types.SimpleNamespace(instance_uuid=INSTANCE, workspace_uuid=workspace_uuid, placement_generation=expected_generation)


def application(box):
    return types.SimpleNamespace(
        logger=logging.getLogger("langbot"),
        instance_config=types.SimpleNamespace(data={"box": box, "system": {}}),
        workspace_service=Workspaces(),
        deployment=types.SimpleNamespace(multi_workspace_enabled=False),
        event_loop=asyncio.get_running_loop(),
        skill_mgr=None,
    )


def context():
    if ExecutionContext is None:
        return None
    return ExecutionContext(instance_uuid=INSTANCE, workspace_uuid=WORKSPACE, placement_generation=1)


def with_context(*arguments):
    """Methods take a context first, since 4.10.7."""
    return arguments if ExecutionContext is None else (context(), *arguments)


def query_of(chat):
    """What LangBot knows of one message."""
    if chat not in queries:
        queries[chat] = types.SimpleNamespace(
            query_id=len(queries) + 1,
            query_uuid=f"query-{len(queries) + 1}",
            instance_uuid=INSTANCE,
            workspace_uuid=WORKSPACE,
            placement_generation=1,
            bot_uuid=None,
            pipeline_uuid=None,
            launcher_type="group",
            launcher_id=chat,
            sender_id="someone",
            variables={},
            pipeline_config={},
            message_chain=None,
        )
    return queries[chat]


async def start(box, shares=None):
    """`shares`: whether LangBot sees the directory that the server shows."""
    service = BoxService(application(box))
    if shares is not None and hasattr(service, "_shares_filesystem_with_box_override"):
        service._shares_filesystem_with_box_override = shares
    services["box"] = service
    await service.initialize()
    return await status()


async def status():
    return await services["box"].get_status(*with_context())


async def sessions():
    return await services["box"].get_sessions(*with_context())


async def storage():
    return await services["box"].get_storage_analysis(context())


async def bound(query, chat):
    """A runner has its Box before it runs anything (4.11)."""
    if RunnerBoxService is None or getattr(query, "_box_binding", None) is not None:
        return
    runner = RunnerBoxService(services["box"])
    acquired = await runner.acquire(context(), {"reuse_key": chat})
    await runner.bind(context(), query, f"run-{query.query_id}", acquired["id"])


async def execute(chat, command, **more):
    query = query_of(chat)
    await bound(query, chat)
    given = {} if RunnerBoxService is None else {"read_only_mounts": build_execution_mounts(services["box"].ap, query)}
    return await services["box"].execute_tool({"command": command, **more}, query, **given)


async def activate(chat, name, package_root, manifest_path, revision):
    """In the middle of a run, as the tool `activate` of 4.11 does."""
    skill = {"package_root": package_root, "manifest_path": manifest_path, "revision": revision}
    query_of(chat).variables.setdefault(ACTIVATED_SKILLS_KEY, {})[name] = skill


async def send_in(chat, name, content):
    """A file that a person attached to a message; where it is inside."""
    query = query_of(chat)
    await bound(query, chat)
    attached = platform_message.File(name=name, base64="data:text/plain;base64," + base64.b64encode(content.encode()).decode())
    query.message_chain = platform_message.MessageChain([attached])
    if RunnerBoxService is None:
        items = await services["box"].materialize_inbound_attachments(query)
    else:
        items = (await RunnerBoxService(services["box"]).import_attachments(query, None))["items"]
    return [item["path"] for item in items]


async def outbox(chat):
    query = query_of(chat)
    await bound(query, chat)
    return f"/workspace/outbox/{services['box']._attachment_query_key(query)}"


async def collect(chat, paths=None):
    """What came out, by name."""
    query = query_of(chat)
    if RunnerBoxService is None:
        items = await services["box"].collect_outbound_attachments(query)
    else:
        exported = await RunnerBoxService(services["box"]).export_files(query, paths)
        items = [query._box_binding.exported[item["id"]] for item in exported["items"]]
    return {item["name"]: base64.b64decode(item["base64"].split(",")[-1]).decode() for item in items}


async def process(session, process_id, command, args):
    """As the loader of MCP servers of the kind stdio does."""
    box = services["box"]
    spec = {"session_id": session, "persistent": True, "network": "on", "memory_mb": 512, "read_only_rootfs": False}
    await box.create_session(*with_context(spec))
    wanted = {"process_id": process_id, "command": command, "args": args}
    started = await box.start_managed_process(*with_context(session, wanted))
    return started.model_dump(mode="json") if hasattr(started, "model_dump") else started


async def look(session, process_id):
    found = await services["box"].get_managed_process(*with_context(session, process_id))
    return found.model_dump(mode="json") if hasattr(found, "model_dump") else found


async def attach(session, process_id):
    box = services["box"]
    if ExecutionContext is None:
        url, headers = box.get_managed_process_websocket_url(session, process_id), {}
    else:
        connection = await box.get_managed_process_websocket_connection(context(), session, process_id)
        url, headers = connection if isinstance(connection, tuple) else (connection.url, connection.headers)
    relays[process_id] = await websockets.connect(url, subprotocols=["mcp"], additional_headers=headers, proxy=None)


async def speak(process_id, line):
    await relays[process_id].send(line + "\n")
    return await relays[process_id].recv()


async def available():
    """LangBot reconnects by itself."""
    while not (await status()).get("available"):
        await asyncio.sleep(0.2)
    return True


ORDERS = {
    each.__name__: each
    for each in (start, status, sessions, storage, execute, activate, send_in, outbox, collect, process, look, attach, speak, available)
}


async def obey(number, do, **order):
    try:
        answer = {"number": number, "value": await ORDERS[do](**order)}
    except Exception as problem:  # whatever LangBot raises is the answer
        answer = {"number": number, "error": {"class": type(problem).__name__, "message": str(problem)}}
    sys.stdout.write(json.dumps(answer, default=str) + "\n")
    sys.stdout.flush()


async def main():
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while line := await reader.readline():
        task = asyncio.create_task(obey(**json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    if "box" in services:
        services["box"].dispose()


asyncio.run(main())
