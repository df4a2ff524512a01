"""Fake model APIs on loopback that make scripted tool calls, and record what a host sends to its model.

A fake answers each request with the next call of its script. It finds that call by counting the results in the request,
so retries and side requests of the host do no harm. After the last call it answers `done`. It keeps all requests.

    with FakeAnthropic([Call("mcp__eyespan__Read", {"file_path": "/a"})]) as model:
        ...                     # run the host with model.url as its API
    model.results()             # the results that the host sent, in the order of the script
    model.tool("mcp__eyespan__Read")   # the definition that the host sent
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass(frozen=True)
class Call:
    """One tool call of the model."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    namespace: str | None = None


class FakeModel:
    """An HTTP server for one API. Subclasses define its paths, items and events."""

    def __init__(self, script: list[Call]) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.other: list[str] = []
        """Method and path of requests that are not for the model."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def results(self) -> list[Any]:
        """Return the results of the calls in the last request that had any."""
        found: list[Any] = []
        for request in self.requests:
            found = self.results_in(request) or found
        return found

    def tool(self, name: str) -> dict[str, Any] | None:
        """Return the definition of a tool that the host sent to the model."""
        for request in self.requests:
            for tool in self.tools_in(request):
                if tool.get("name") == name:
                    return tool
        return None

    def turn(self, request: dict[str, Any]) -> Call | None:
        """Return the next call; None at the end of the script, and for side requests of the host."""
        done = len(self.results_in(request))
        if done >= len(self.script) or not self.tools_in(request):
            return None
        return self.script[done]

    def is_for_the_model(self, path: str) -> bool:
        raise NotImplementedError

    def is_stream(self, path: str, request: dict[str, Any]) -> bool:
        return bool(request.get("stream"))

    def tools_in(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        raise NotImplementedError

    def results_in(self, request: dict[str, Any]) -> list[Any]:
        raise NotImplementedError

    def events(self, request: dict[str, Any], call: Call | None) -> list[dict[str, Any]]:
        raise NotImplementedError

    def whole(self, request: dict[str, Any], call: Call | None) -> dict[str, Any]:
        """Return the answer to a request without streaming."""
        raise NotImplementedError

    def _handler(fake) -> type[BaseHTTPRequestHandler]:  # noqa: N805  # `self` is the handler's, below
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                path = self.path.partition("?")[0]
                if not fake.is_for_the_model(path):
                    fake.other.append(f"POST {path}")
                    return self._send(b'{"input_tokens": 1}', "application/json")
                request = json.loads(body)
                fake.requests.append(request)
                call = fake.turn(request)
                if not fake.is_stream(path, request):
                    return self._send(json.dumps(fake.whole(request, call)).encode(), "application/json")
                stream = "".join(
                    (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                    for event in fake.events(request, call)
                )
                return self._send(stream.encode(), "text/event-stream")

            def do_GET(self) -> None:
                fake.other.append(f"{self.command} {self.path.partition('?')[0]}")
                self._send(b"{}", "application/json")

            def do_HEAD(self) -> None:
                self.do_GET()

            def _send(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class FakeAnthropic(FakeModel):
    """`POST /v1/messages`."""

    def is_for_the_model(self, path: str) -> bool:
        return path == "/v1/messages"

    def tools_in(self, request):
        return request.get("tools") or []

    def results_in(self, request):
        return [
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block.get("type") == "tool_result"
        ]

    def whole(self, request, call):
        block = (
            {"type": "text", "text": "done"}
            if call is None
            else {"type": "tool_use", "id": self._id(request), "name": call.name, "input": call.arguments}
        )
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [block],
            "stop_reason": "end_turn" if call is None else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def events(self, request, call):
        message = self.whole(request, call)
        (block,) = message["content"]
        if call is None:
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            start = {**block, "input": {}}
        return [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                "usage": {"output_tokens": 1},
            },
            {"type": "message_stop"},
        ]

    def _id(self, request) -> str:
        return f"toolu_{len(self.results_in(request))}"


class FakeOpenAI(FakeModel):
    """`POST /v1/responses`."""

    def is_for_the_model(self, path: str) -> bool:
        return path == "/v1/responses"

    def tools_in(self, request):
        """Return the functions, with their `namespace` if they have one."""
        found = []
        for tool in request.get("tools") or []:
            if tool.get("type") == "namespace":
                found += [{**inner, "namespace": tool["name"]} for inner in tool["tools"]]
            else:
                found.append(tool)
        return found

    def results_in(self, request):
        items = request["input"] if isinstance(request["input"], list) else []
        return [item for item in items if item.get("type") == "function_call_output"]

    def whole(self, request, call):
        done = len(self.results_in(request))
        if call is None:
            item = {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "done", "annotations": []}],
            }
        else:
            item = {
                "type": "function_call",
                "id": f"fc_{done}",
                "call_id": f"call_{done}",
                "name": call.name,
                "arguments": json.dumps(call.arguments),
                "status": "completed",
            }
            if call.namespace is not None:
                item["namespace"] = call.namespace
        return {
            "id": f"resp_{done}",
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": request["model"],
            "output": [item],
            "usage": {
                "input_tokens": 1,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 2,
            },
        }

    def events(self, request, call):
        response = self.whole(request, call)
        (item,) = response["output"]
        return [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response},
        ]


class FakeGemini(FakeModel):
    """`POST /v1beta/models/NAME:streamGenerateContent`, and the same without streaming."""

    def is_for_the_model(self, path: str) -> bool:
        return path.endswith(("enerateContent",))

    def is_stream(self, path, request):
        return "stream" in path

    def tools_in(self, request):
        return [one for tool in request.get("tools") or [] for one in tool.get("functionDeclarations", [])]

    def results_in(self, request):
        """Return the results, each with the parts after it that belong to it."""
        found = []
        for content in request["contents"]:
            for part in content.get("parts", []):
                if "functionResponse" in part:
                    found.append({**part["functionResponse"], "beside": []})
                elif found and content["role"] == "user":
                    found[-1]["beside"].append(part)
        return found

    def whole(self, request, call):
        part = {"text": "done"}
        if call is not None:
            part = {"functionCall": {"name": call.name, "args": call.arguments}}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}

    def events(self, request, call):
        return [self.whole(request, call)]
