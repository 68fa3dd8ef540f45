"""Spans that agents export to the proxy become sessions, and are read with the same limits as other bodies."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.test_server import Running, proxy
from traces.instrumented import FRAMEWORKS, comparable_rows, run_instrumented, scripted_model
from traces.test_spans import CALL, FIRST, LOOP, READ, SAID, SECOND, as_otlp, called, parts, span, talk, text
from workbench.log.events import Failure, Request, Setting, ToolCall, UserMessage
from workbench.log.store import Store
from workbench.proxy.received_spans import JSON, PROTOBUF
from workbench.proxy.sessions import ProxySessions
from workbench.sources.source import as_source
from workbench.traces.llm_calls import LlmCall
from workbench.traces.otlp import fields_in, trace_service

NOBODY = "http://127.0.0.1:1"


async def post(running: Running, body: bytes, kind: str = JSON, **headers: str) -> tuple[int, bytes]:
    where = f"{running.address}/v1/traces"
    async with running.client.post(where, data=body, headers={"Content-Type": kind, **headers}) as came:
        return came.status, await came.read()


def exported(*spans: dict[str, Any]) -> bytes:
    resources = [each for told in spans for each in as_otlp(told)["resourceSpans"]]
    return json.dumps({"resourceSpans": resources}).encode()


@pytest.mark.xdist_group("litellm")  # where the other tests import the frameworks
@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_exported_spans_have_the_rows_of_the_proxy(framework: str, tmp_path: Path) -> None:
    pytest.importorskip("openinference.instrumentation")
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    (tmp_path / "spans").mkdir()
    async with scripted_model() as url, proxy(tmp_path, url) as running, proxy(tmp_path / "spans", NOBODY) as traced:
        where = f"{traced.address}/v1/traces"
        await run_instrumented(framework, running.address, exporters.OTLPSpanExporter(where))
        passed, found = await running.bodies(), await traced.bodies()
    assert comparable_rows(found) == comparable_rows(passed)
    assert [row[0] for row in comparable_rows(found)].count("usage") == 5
    assert not any(isinstance(body, Request) for body in found)  # a tracer's words are not what was sent


async def test_json_needs_no_package_and_may_be_packed(tmp_path: Path) -> None:
    async with proxy(tmp_path, NOBODY) as running:
        assert await post(running, gzip.compress(exported(LOOP[1])), **{"Content-Encoding": "gzip"}) == (200, b"{}")
        assert await post(running, exported(LOOP[0], LOOP[2])) == (200, b"{}")
        bodies = await running.bodies()
        [info] = running.store.list()
        assert as_source("", running.store.session(info.id).events()).recorded  # the agent's, not continued here
    assert talk(bodies) == READ
    assert Setting("title", "look") in bodies


async def test_two_conversations_are_two_sessions(tmp_path: Path) -> None:
    other = {**called([parts("user", text("look"))], SAID), "gen_ai.conversation.id": "d"}
    async with proxy(tmp_path, NOBODY) as running:
        await post(running, exported(span(1, called(FIRST, parts("assistant", CALL))), span(2, other)))
        await post(running, exported(span(3, called(SECOND, SAID))))
        bodies = await running.bodies()
    assert [body for body in bodies if isinstance(body, UserMessage)] == [UserMessage("look")] * 2
    assert sum(isinstance(body, ToolCall) for body in bodies) == 1


async def test_a_sub_agent_is_a_session_that_knows_who_started_it(tmp_path: Path) -> None:
    task = "find every caller of the function"
    start = {"type": "tool_call", "id": "c", "name": "delegate", "arguments": {"task": task}}
    sub = {**called([parts("user", text(task))], SAID), "gen_ai.conversation.id": "d"}
    async with proxy(tmp_path, NOBODY) as running:
        await post(running, exported(span(1, called(FIRST, parts("assistant", start)))))
        await post(running, exported(span(2, sub)))
        bodies = await running.bodies()
    [noted] = [body for body in bodies if isinstance(body, Request)]  # in the session that started it
    assert noted.purpose == "sub-agent"
    assert Setting("title", f"sub-agent: {task}") in bodies


async def test_without_the_extra_protobuf_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.proto.collector.trace.v1.trace_service_pb2", None)
    async with proxy(tmp_path, NOBODY) as running:
        status, body = await post(running, b"\n\x00", PROTOBUF)
        assert (status, await post(running, exported(LOOP[1]))) == (415, (200, b"{}"))
    assert "pip install 'context-workbench[otel]'" in json.loads(body)["message"]


async def test_what_is_no_request_of_otlp_is_refused_in_words(tmp_path: Path) -> None:
    async with proxy(tmp_path, NOBODY, largest=100_000) as running:
        assert (await post(running, b"{"))[0] == 400
        assert (await post(running, b"[]"))[0] == 400
        assert (await post(running, b'{"resourceSpans": 1}'))[0] == 400
        assert (await post(running, b"\xff" * 9, PROTOBUF))[0] == 400
        assert (await post(running, b"x", "text/plain"))[0] == 415
        assert (await post(running, b"x" * 100_001))[0] == 413
        assert (await post(running, gzip.compress(b"x" * 100_001), **{"Content-Encoding": "gzip"}))[0] == 413
        assert await post(running, b"{}") == (200, b"{}")
        assert await post(running, b"", PROTOBUF) == (200, b"")
        assert (await running.client.get(f"{running.address}/v1/traces")).status == 405
        assert not await running.bodies()


async def test_a_flood_of_empty_spans_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    spans = b"\x12\x00" * 1_000_000
    nested = b"\x12" + _length(len(spans)) + spans
    request = b"\n" + _length(len(nested)) + nested
    async with proxy(tmp_path, NOBODY) as running:
        status, body = await post(running, request, PROTOBUF)
    assert status == 413
    assert b"120,000" in body


def _length(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


@given(st.binary(max_size=200))
def test_any_bytes_can_be_counted(data: bytes) -> None:
    assert 0 <= fields_in(data, 100) <= 101


@given(st.integers(0, 20), st.integers(0, 20))
def test_fields_of_all_messages_are_counted(spans: int, attributes: int) -> None:
    request = trace_service().ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(spans):
        made = scope.spans.add(name="s")
        for each in range(attributes):
            made.attributes.add(key=str(each)).value.int_value = number
    # two for the wrappers; a span has itself and its name, an attribute itself, its key, its value and what is in it
    assert fields_in(request.SerializeToString(), 10_000) == 2 + spans * (2 + 4 * attributes)


@pytest.mark.parametrize("field", [b"\x0d\0\0\0\x04", b"\x09\0\0\0\0\0\0\0\x04"], ids=["four bytes", "eight"])
def test_numbers_of_a_fixed_length_are_counted(field: bytes) -> None:
    assert fields_in(field * 3, 10) == 3


async def test_secrets_in_spans_are_masked_before_they_reach_the_journal(tmp_path: Path) -> None:
    from support.recorder_thread import ThreadLink
    from workbench.proxy.recorder import Recorder
    from workbench.proxy.redacting import RedactingLink
    from workbench.proxy.redaction import redacted

    with Store.open(tmp_path / "proxy.db") as store:
        recorder = Recorder(RedactingLink(ThreadLink(ProxySessions(lambda: store)), redacted), print, redacted)
        secret = 'say "password=hunter2hunter2" twice'
        recorder.record_call("agent", LlmCall([{"role": "user", "content": secret}], "Done.", "gpt", group="c"))
        recorder.close(60)
        bodies = [event.body for info in store.list() for event in store.session(info.id).events()]
    assert UserMessage('say "password=[redacted]" twice') in bodies
    assert not any(isinstance(body, Failure) for body in bodies)
