"""`workbench export --otlp`: the requests of a session as spans, in a file or at a collector."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from support.calls import Call
from traces.instrumented import comparable_rows
from workbench.log.events import SlotContent, ToolCall, ToolResult, text_of
from workbench.traces.formats import read_conversations
from workbench.traces.otlp import decoded_request
from workbench.traces.span_attributes import attributes_of, spans_of

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


def spans_in(path: Path) -> list[dict[str, Any]]:
    return [span for line in path.read_text().splitlines() for span in spans_of(json.loads(line))]


@contextmanager
def collector(status: int = 200) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector that keeps what it gets, with the path of each request."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


def test_a_collector_that_is_not_there_is_told_at_once(
    call: Call, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    exporter = "opentelemetry.exporter.otlp.proto.http.trace_exporter.OTLPSpanExporter"
    monkeypatch.setattr(exporter, None)  # it would try again and again
    said = call("export", transcript, "--otlp", f"http://127.0.0.1:{port}")
    assert said.code == 1
    assert said.err == (
        f"workbench: http://127.0.0.1:{port}/v1/traces: no collector answers there (Connection refused)\n"
    )


def test_a_file_with_something_else_in_it_stays_as_it_is(call: Call, transcript: Path) -> None:
    before = transcript.read_bytes()
    outcome = call("export", transcript, "--otlp", transcript)
    assert (outcome.code, transcript.read_bytes()) == (3, before)
    assert outcome.err.endswith("something else is in this file; it stays as it is\n")


def test_a_file_of_spans_has_each_request_with_its_answer(call: Call, transcript: Path, tmp_path: Path) -> None:
    made = tmp_path / "spans.jsonl"
    assert call("export", transcript, "--otlp", made).code == 0
    first, second = (attributes_of(span) for span in spans_in(made))
    assert first["gen_ai.conversation.id"] == "session.json"  # the name, not the path
    assert [each["role"] for each in json.loads(first["gen_ai.input.messages"])] == ["user"]
    kinds = [part["type"] for part in json.loads(first["gen_ai.output.messages"])[0]["parts"]]
    assert kinds == ["text", "tool_call", "tool_call"]
    assert [each["role"] for each in json.loads(second["gen_ai.input.messages"])] == ["user", "assistant", "tool"]
    assert "careful" in json.loads(first["gen_ai.system_instructions"])[0]["content"]


def test_read_again_the_spans_are_the_same_conversation(call: Call, transcript: Path, tmp_path: Path) -> None:
    made = tmp_path / "spans.jsonl"
    call("export", transcript, "--otlp", made)
    [before] = read_conversations("file", transcript.read_text(encoding="utf-8"))
    [after] = read_conversations("file", made.read_text())
    said = [row for row in comparable_rows(after) if row[0] != "system"]
    assert said == comparable_rows(before)[:-1]  # the last question has no answer
    assert sum(len(text_of(body.content)) for body in after if isinstance(body, ToolResult)) > 6_000
    assert any(isinstance(body, SlotContent) for body in after)


def test_a_session_of_the_store_goes_to_a_collector_and_twice_is_the_same(call: Call, transcript: Path) -> None:
    session = call("import", transcript, "--json").json["sessions"][0]["id"]
    with collector() as (address, got):
        assert call("export", session, "--otlp", address).out == f"sent 2 spans to {address}/v1/traces\n"
        assert call("export", session, "--otlp", f"{address}/v1/traces").code == 0
    assert [path for path, _ in got] == ["/v1/traces"] * 2
    one, other = (decoded_request(body) for _, body in got)
    assert [span["spanId"] for span in spans_of(one)] == [span["spanId"] for span in spans_of(other)]
    assert {attributes_of(span)["gen_ai.conversation.id"] for span in spans_of(one)} == {session}


def test_a_collector_that_refuses_says_so_in_one_line(call: Call, transcript: Path) -> None:
    with collector(401) as (address, _):
        refused = call("export", transcript, "--otlp", address)
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert "401" in refused.err


def test_what_cannot_be_exported_is_said_before_anything_is_written(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transcript: Path
) -> None:
    made = tmp_path / "spans.jsonl"
    empty = tmp_path / "empty.json"
    empty.write_text('[{"role": "user", "content": "look"}]')
    assert "there are no requests to export" in call("export", empty, "--otlp", made).err
    assert "there is no folder" in call("export", transcript, "--otlp", tmp_path / "no" / "x").err
    assert "expected the address of a collector" in call("export", transcript, "--otlp", "http://").err
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    refused = call("export", transcript, "--otlp", made)
    assert "pip install 'context-workbench[otel]'" in refused.err
    assert not made.exists()


def test_a_proxy_needs_a_collector_and_a_recording(call: Call) -> None:
    assert "expected the address of a collector" in call("proxy", "--otlp", "somewhere").err
    assert "expected a proxy that records" in call("proxy", "--no-record", "--otlp", "http://127.0.0.1:4318").err


def test_calls_and_results_of_gemini_come_back_from_spans(call: Call, tmp_path: Path) -> None:
    """It names neither calls nor results; they belong together by their order."""

    def asked(*numbers: int) -> dict[str, Any]:
        calls = [{"functionCall": {"name": "read", "args": {"n": n}}} for n in numbers]
        return {"role": "model", "parts": [{"text": "I look."}, *calls]}

    def given(*numbers: int) -> dict[str, Any]:
        results = [{"functionResponse": {"name": "read", "response": {"output": f"page {n}"}}} for n in numbers]
        return {"role": "user", "parts": results}

    first = {"role": "user", "parts": [{"text": "read it"}]}
    talk = [first, asked(1, 2), given(1, 2), asked(3), given(3), {"role": "model", "parts": [{"text": "done"}]}]
    lines = [
        {
            "request": {"model": "gemini-2.5-pro", "contents": talk[:at]},
            "response": {"candidates": [{"content": talk[at]}], "usageMetadata": {"promptTokenCount": at * 10}},
        }
        for at in (1, 3, 5)
    ]
    file, spans = tmp_path / "gemini.jsonl", tmp_path / "spans.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert call("export", file, "--otlp", spans).code == 0
    before, after = (read_conversations("file", path.read_text())[0] for path in (file, spans))
    calls = [each for each in before if isinstance(each, ToolCall)]
    assert len(calls) == 3
    assert [each for each in after if isinstance(each, ToolCall)] == calls
    for found in (before, after):
        results = {each.call_id: text_of(each.content) for each in found if isinstance(each, ToolResult)}
        assert results == {each.call_id: f"page {json.loads(each.arguments)['n']}" for each in calls}
