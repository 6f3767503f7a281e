"""A scripted endpoint that speaks OpenAI's chat completions over HTTP, on the loopback interface only."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What the server does with one request.

    :param text: The reply's text.
    :param calls: Tool calls: name and arguments, the latter as an object or as the text that stands for it.
    :param finish: ``finish_reason``.
    :param refusal: The text of a refusal.
    :param usage: The reported usage; counted at four characters a token when not given, absent when empty.
    :param status: The status code; other than 200, ``text`` is the error's message and ``code`` its code.
    :param raw: The body to send in place of a completion.
    :param wait: Seconds before anything is sent.
    :param cut: Close the connection after so many bytes of the body.
    """

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    finish: str | None = None
    refusal: str | None = None
    usage: dict[str, Any] | None = None
    status: int = 200
    code: str | None = None
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: str | None = None
    wait: float = 0.0
    cut: int | None = None


Script = Callable[[dict[str, Any], int], Answer]


class ChatServer:
    """The server; use it as a context manager.

    :param script: Answers one after the other (the last one again and again), or a function of the request and its
        number from 0.
    """

    def __init__(self, script: Sequence[Answer] | Script) -> None:
        answers = script if callable(script) else lambda _, number: script[min(number, len(script) - 1)]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(outer.requests)
                    outer.requests.append(request)
                    outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                answer = answers(request, number)
                time.sleep(answer.wait)
                status, kind, body = _rendered(answer, request)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body[: answer.cut])
                if answer.cut is not None:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A client that gave up is no fault."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> "ChatServer":
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _rendered(answer: Answer, request: dict[str, Any]) -> tuple[int, str, bytes]:
    if answer.raw is not None:
        return answer.status, "application/json", answer.raw.encode()
    if answer.status != 200:
        error = {"message": answer.text, "code": answer.code, "param": answer.param, "type": "error"}
        return answer.status, "application/json", json.dumps({"error": error}).encode()
    calls = [
        {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for i, (name, given) in enumerate(answer.calls)
    ]
    finish = answer.finish or ("tool_calls" if calls else "stop")
    usage = answer.usage
    if usage is None:
        prompt = [request.get(part) for part in ("messages", "tools", "response_format")]
        usage = {"prompt_tokens": count(prompt), "completion_tokens": count(answer.text) + count(calls)}
        usage["total_tokens"] = sum(usage.values())
    common = {"id": "chatcmpl-1", "created": 1, "model": request["model"]}
    if request.get("stream"):
        return 200, "text/event-stream", _stream(answer, calls, finish, usage, common)
    message = {"role": "assistant", "content": answer.text or None, "refusal": answer.refusal}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    body = {**common, "object": "chat.completion", "choices": [choice], **({"usage": usage} if usage else {})}
    return 200, "application/json", json.dumps(body).encode()


def _stream(answer: Answer, calls: list[Any], finish: str, usage: Any, common: dict[str, Any]) -> bytes:
    """The same in pieces of seven characters, as servers send it."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": answer.text[i : i + 7]} for i in range(0, len(answer.text), 7)]
    if answer.refusal:
        deltas.append({"refusal": answer.refusal})
    for index, call in enumerate(calls):
        function = call["function"]
        deltas.append({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        for i in range(0, len(function["arguments"]), 7):
            part = {"index": index, "function": {"arguments": function["arguments"][i : i + 7]}}
            deltas.append({"tool_calls": [part]})
    pieces = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    pieces.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        pieces.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps({**common, 'object': 'chat.completion.chunk', **piece})}\n\n" for piece in pieces]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def count(value: Any) -> int:
    """Tokens as this server counts them: four characters each, as texts stand in JSON."""
    return 0 if value is None else -(-len(json.dumps(value, ensure_ascii=False)) // 4)
