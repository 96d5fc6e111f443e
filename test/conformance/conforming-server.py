"""An MCP server on pipes with everything that the conformance suite asks a server for, without dependencies: every box has Python.

Its argument is what it speaks: `legacy` up to 2025-11-25, `modern` 2026-07-28. Names and texts of tools, prompts and resources are the suite's.
"""
import hashlib, hmac, json, queue, secrets, sys, threading

ERA = sys.argv[1]
IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
AUDIO = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
SELF = {"name": "conforming", "version": "1.0.0"}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
META = "io.modelcontextprotocol/"
INVALID_PARAMS, NO_METHOD, NO_CAPABILITY = -32602, -32601, -32021
NO_RESOURCE = INVALID_PARAMS if ERA == "modern" else -32002
KEY = secrets.token_bytes(32)

writing = threading.Lock()
asked = {}
listens = {}


class Refused(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def send(message):
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    with writing:
        sys.stdout.write(line)
        sys.stdout.flush()


def tell(method, params):
    send({"method": method, "params": params})


def ask(method, params):
    """A question to the client, as servers up to 2025-11-25 put it."""
    id, answer = secrets.token_hex(4), queue.Queue()
    asked[id] = answer
    send({"id": id, "method": method, "params": params})
    reply = answer.get()
    if "error" in reply:
        raise Refused(reply["error"]["code"], reply["error"]["message"])
    return reply["result"]


def changed(kind):
    """To everybody of before; of those who listen by now, to those who asked for it."""
    if ERA == "legacy":
        return tell(f"notifications/{kind}/list_changed", {})
    for id, wish in list(listens.items()):
        if wish.get(f"{kind}ListChanged"):
            tell(f"notifications/{kind}/list_changed", {"_meta": {META + "subscriptionId": id}})


def text(said):
    return {"content": [{"type": "text", "text": said}]}


def resource(uri, said, kind="text/plain"):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": said}}


IMAGE_PART = {"type": "image", "data": IMAGE, "mimeType": "image/png"}


# Questions in the way of 2026-07-28: an answer that needs input, and a state that only we can have written.


def sign(payload):
    return hmac.new(KEY, payload.encode(), hashlib.sha256).hexdigest()


def mint(**state):
    payload = json.dumps({**state, "nonce": secrets.token_hex(8)}).encode().hex()
    return f"{payload}.{sign(payload)}"


def state_of(params):
    state = params.get("requestState")
    if state is None:
        return None
    payload, _, seal = state.partition(".")
    if not hmac.compare_digest(sign(payload), seal):
        raise Refused(INVALID_PARAMS, "the request state is not ours")
    return json.loads(bytes.fromhex(payload))


def needs(requests, state=None):
    return {"resultType": "input_required", "inputRequests": requests, **({} if state is None else {"requestState": state})}


def elicit(message, name, kind="string"):
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sample(said):
    message = {"role": "user", "content": {"type": "text", "text": said}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


ROOTS = {"method": "roots/list"}


def accepted(params, key):
    answer = params.get("inputResponses", {}).get(key)
    return answer.get("content") if isinstance(answer, dict) and answer.get("action") == "accept" else None


def in_round(question, said):
    """One round of one question: asked again when it is not answered."""

    def call(params):
        answers = params.get("inputResponses", {})
        key = next(iter(question))
        answer = accepted(params, key) if question[key]["method"] == "elicitation/create" else answers.get(key)
        return text(said(answer)) if isinstance(answer, dict) else needs(question)

    return call


def request_state(params):
    if state_of(params) is not None and accepted(params, "confirm") is not None:
        return text("state-ok")
    return needs({"confirm": elicit("Please confirm", "ok", "boolean")}, mint())


def multiple_inputs(params):
    answers = params.get("inputResponses", {})
    if state_of(params) is not None and {"user_name", "greeting", "client_roots"} <= answers.keys():
        return text("all three came")
    questions = {"user_name": elicit("What is your name?", "name"), "greeting": sample("Generate a greeting"), "client_roots": ROOTS}
    return needs(questions, mint())


def multi_round(params):
    state = state_of(params) or {"round": 0}
    if state["round"] == 0:
        return needs({"step1": elicit("Step 1: What is your name?", "name")}, mint(round=1))
    if state["round"] == 1:
        return needs({"step2": elicit("Step 2: What is your favorite color?", "color")}, mint(round=2))
    return text("both rounds are over")


def capabilities(params):
    if "inputResponses" in params:
        return text("answered")
    able = params["_meta"][META + "clientCapabilities"]
    questions = {
        **({"user_name": elicit("What is your name?", "name")} if "elicitation" in able else {}),
        **({"greeting": sample("Generate a greeting")} if "sampling" in able else {}),
        **({"client_roots": ROOTS} if "roots" in able else {}),
    }
    return needs(questions) if questions else text("nothing can be asked")


def missing_capability(params):
    if "sampling" not in params["_meta"][META + "clientCapabilities"]:
        raise Refused(NO_CAPABILITY, "sampling is needed", {"requiredCapabilities": {"sampling": {}}})
    return text("sampling is there")


# What both have in common, each in its own way.


def answered(params, question):
    """`None`: it has to be asked first."""
    return ask(question["method"], question["params"]) if ERA == "legacy" else params.get("inputResponses", {}).get("answer")


def log(params, data):
    if ERA == "legacy" or META + "logLevel" in params["_meta"]:
        tell("notifications/message", {"level": "info", "logger": "conforming", "data": data})


def with_logging(params):
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        log(params, said)
        threading.Event().wait(0.05)
    return text("Tool with logging executed successfully")


def logging_tool(params):
    log(params, "asked for")
    return text("logged for those who want it")


def with_progress(params):
    token = params.get("_meta", {}).get("progressToken")
    for done in (0, 50, 100) if token is not None else ():
        tell("notifications/progress", {"progressToken": token, "progress": done, "total": 100, "message": f"step {done}"})
        threading.Event().wait(0.05)
    return text("done")


def sampling(params):
    question = sample(params["arguments"]["prompt"])
    answer = answered(params, question)
    return needs({"answer": question}) if answer is None else text(f"LLM response: {answer['content']['text']}")


def form(message, properties, required=()):
    """A tool that asks for these fields; without a message, for what its argument says."""

    def call(params):
        schema = {"type": "object", "properties": properties, "required": list(required)}
        said = params["arguments"]["message"] if message is None else message
        question = {"method": "elicitation/create", "params": {"message": said, "requestedSchema": schema}}
        answer = answered(params, question)
        if answer is None:
            return needs({"answer": question})
        return text(f"action={answer['action']}, content={json.dumps(answer.get('content', {}))}")

    return call


DEFAULTS = {
    "name": {"type": "string", "description": "User name", "default": "John Doe"},
    "age": {"type": "integer", "description": "User age", "default": 30},
    "score": {"type": "number", "description": "User score", "default": 95.5},
    "status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "description": "Verification status", "default": True},
}


def titled(*names):
    return [{"const": f"value{n}", "title": name} for n, name in enumerate(names, 1)]


OPTIONS = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": OPTIONS},
    "titledSingle": {"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string", "enum": OPTIONS}},
    "titledMulti": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")}},
}


def fails(_params):
    return {**text("This tool intentionally returns an error for testing"), "isError": True}


def trigger(kind):
    def call(_params):
        changed(kind)
        return text("told")

    return call


def strings(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


ANY = {"type": "object", "properties": {}}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADERS = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}},
}

TOOLS = {
    "test_simple_text": (ANY, lambda _: text("This is a simple text response for testing.")),
    "test_image_content": (ANY, lambda _: {"content": [IMAGE_PART]}),
    "test_audio_content": (ANY, lambda _: {"content": [{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}]}),
    "test_embedded_resource": (ANY, lambda _: {"content": [resource("test://embedded-resource", "This is an embedded resource content.")]}),
    "test_multiple_content_types": (
        ANY,
        lambda _: {
            "content": [
                {"type": "text", "text": "Multiple content types test:"},
                IMAGE_PART,
                resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
            ]
        },
    ),
    "test_tool_with_logging": (ANY, with_logging),
    "test_tool_with_progress": (ANY, with_progress),
    "test_error_handling": (ANY, fails),
    "test_reconnection": (ANY, lambda _: text("still here")),
    "test_sampling": (strings("prompt"), sampling),
    "test_elicitation": (strings("message"), form(None, {"response": {"type": "string"}}, ["response"])),
    "test_elicitation_sep1034_defaults": (ANY, form("Please review the form", DEFAULTS)),
    "test_elicitation_sep1330_enums": (ANY, form("Please select options", ENUMS)),
    "json_schema_2020_12_tool": (SCHEMA_2020, lambda _: text("ok")),
    "test_x_mcp_header": (HEADERS, lambda params: text(f"region={params.get('arguments', {}).get('region')}")),
    "test_trigger_tool_change": (ANY, trigger("tools")),
    "test_trigger_prompt_change": (ANY, trigger("prompts")),
    "test_streaming_elicitation": (ANY, lambda _: text("nothing is asked on the stream")),
    "test_logging_tool": (ANY, logging_tool),
}
IN_ROUNDS = {
    "test_missing_capability": (ANY, missing_capability),
    "test_input_required_result_elicitation": (
        ANY,
        in_round({"user_name": elicit("What is your name?", "name")}, lambda answer: f"Hello, {answer.get('name')}!"),
    ),
    "test_input_required_result_sampling": (
        ANY,
        in_round({"capital_question": sample("What is the capital of France?")}, lambda answer: answer["content"]["text"]),
    ),
    "test_input_required_result_list_roots": (ANY, in_round({"client_roots": ROOTS}, lambda answer: f"{len(answer['roots'])} roots")),
    "test_input_required_result_request_state": (ANY, request_state),
    "test_input_required_result_tampered_state": (ANY, request_state),
    "test_input_required_result_multiple_inputs": (ANY, multiple_inputs),
    "test_input_required_result_multi_round": (ANY, multi_round),
    "test_input_required_result_capabilities": (ANY, capabilities),
}
if ERA == "modern":
    TOOLS.update(IN_ROUNDS)

RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": IMAGE},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}


def said(*parts):
    return {"messages": [{"role": "user", "content": {"type": "text", "text": part} if isinstance(part, str) else part} for part in parts]}


def prompt_in_round(params):
    context = accepted(params, "user_context")
    if context is None:
        return needs({"user_context": elicit("What context should the prompt use?", "context")})
    return said(f"Use the following context: {context.get('context')}")


PROMPTS = {
    "test_simple_prompt": ((), lambda _: said("This is a simple prompt for testing.")),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda params: said("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'".format(**params["arguments"])),
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda params: said(resource(params["arguments"]["resourceUri"], "Embedded resource content for testing."), "Please process it."),
    ),
    "test_prompt_with_image": ((), lambda _: said(IMAGE_PART, "Please analyze the image above.")),
}
if ERA == "modern":
    PROMPTS["test_input_required_result_prompt"] = ((), prompt_in_round)


def named(table, name, what):
    if name not in table:
        raise Refused(INVALID_PARAMS, f"there is no {what} {name}")
    return table[name]


def read(uri):
    if uri in RESOURCES:
        return {"contents": [{"uri": uri, **RESOURCES[uri]}]}
    head, tail = "test://template/", "/data"
    if not uri.startswith(head) or not uri.endswith(tail):
        raise Refused(NO_RESOURCE, "Resource not found", {"uri": uri})
    id = uri[len(head) : -len(tail)]
    body = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": body}]}


TEMPLATE = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
METHODS = {
    "tools/list": lambda _: {"tools": [{"name": name, "description": f"The suite's {name}", "inputSchema": schema} for name, (schema, _) in TOOLS.items()]},
    "tools/call": lambda params: named(TOOLS, params["name"], "tool")[1](params),
    "resources/list": lambda _: {
        "resources": [{"uri": uri, "name": uri.rpartition("/")[2], "description": f"The suite's {uri}", "mimeType": part["mimeType"]} for uri, part in RESOURCES.items()]
    },
    "resources/templates/list": lambda _: {"resourceTemplates": [TEMPLATE]},
    "resources/read": lambda params: read(params["uri"]),
    "prompts/list": lambda _: {
        "prompts": [
            {"name": name, "description": f"The suite's {name}", "arguments": [{"name": each, "description": each, "required": True} for each in needed]}
            for name, (needed, _) in PROMPTS.items()
        ]
    },
    "prompts/get": lambda params: named(PROMPTS, params["name"], "prompt")[1](params),
    "completion/complete": lambda _: {"completion": {"values": [], "total": 0, "hasMore": False}},
}
BEFORE = {
    "initialize": lambda params: {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": SELF},
    "ping": lambda _: {},
    "logging/setLevel": lambda _: {},
    "resources/subscribe": lambda _: {},
    "resources/unsubscribe": lambda _: {},
}
NOW = {"server/discover": lambda _: {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES}}
SPOKEN = {**METHODS, **(BEFORE if ERA == "legacy" else NOW)}
CACHED = {"server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}


def dressed(method, result):
    if ERA == "legacy":
        return result
    whole = {"resultType": "complete", "_meta": {META + "serverInfo": SELF}, **result}
    return {"ttlMs": 1000, "cacheScope": "private", **whole} if method in CACHED else whole


def serve(id, method, params):
    try:
        if method not in SPOKEN:
            raise Refused(NO_METHOD, f"there is no {method}")
        send({"id": id, "result": dressed(method, SPOKEN[method](params))})
    except Refused as refused:
        send({"id": id, "error": refused.error})
    except (KeyError, TypeError, AttributeError, ValueError) as wrong:
        send({"id": id, "error": {"code": INVALID_PARAMS, "message": f"the parameters do not fit: {wrong!r}"}})


def listen(id, params):
    listens[id] = params["notifications"]
    tell("notifications/subscriptions/acknowledged", {"notifications": params["notifications"], "_meta": {META + "subscriptionId": id}})


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method is None:
        asked.pop(id).put(message)
    elif method == "notifications/cancelled":
        listens.pop(params.get("requestId"), None)
    elif method == "subscriptions/listen" and ERA == "modern":
        listen(id, params)
    elif id is not None:
        threading.Thread(target=serve, args=(id, method, params), daemon=True).start()
