"""`proxy --otlp`: what passes is sent on as spans, and nothing waits for the collector."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
from pathlib import Path

import pytest

from adapters.runs import with_pydantic_ai
from proxy.commands import asked, started, until_recorded
from proxy.conftest import Recording, answered, claude, said, user
from proxy.test_server import proxy
from support.provider import Answer, Provider
from support.recorder_thread import in_thread
from traces.instrumented import TURNS, comparable_rows, scripted_model
from traces.test_spans import talk
from workbench.log.events import AssistantMessage, UserMessage
from workbench.log.store import Store
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.proxy.span_sender import SpanSender

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


def _ended(process: subprocess.Popen[str], data: Path) -> str:
    process.terminate()
    errors = process.communicate()[1]
    until_recorded(data)
    return errors


@pytest.mark.xdist_group("litellm")  # where the other tests import the framework
async def test_one_proxy_s_spans_are_another_s_session(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    async with scripted_model() as url, proxy(tmp_path, url) as second:
        sender = SpanSender(f"{second.address}/v1/traces")
        with Store.open(tmp_path / "first" / "proxy.db") as store:
            recorder = in_thread(ProxySessions(lambda: store, export=sender.send_exchange))
            async with ProxyServer(Upstreams(url), recorder) as server:
                await with_pydantic_ai(server.address, turns=TURNS)
                await asyncio.to_thread(recorder.close, 120)
            await asyncio.to_thread(sender.close)
            passed = [event.body for info in store.list() for event in store.session(info.id).events()]
        found = await second.bodies()
    assert comparable_rows(found) == comparable_rows(passed)
    assert len(found) > 10


def test_the_command_sends_spans_and_ends_with_the_last_one(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with started(tmp_path / "a", "--json", "--to", "rehearsal") as collector:
        assert collector.stdout is not None
        where = json.loads(collector.stdout.readline())["address"]
        with started(tmp_path / "b", "--json", "--to", "rehearsal", "--otlp", where) as process:
            assert process.stdout is not None
            answer = asked(json.loads(process.stdout.readline())["address"])
            assert _ended(process, tmp_path / "b" / "data") == ""
        _ended(collector, tmp_path / "a" / "data")
    with Store.open(tmp_path / "a" / "data" / "workbench.db") as store:
        [info] = store.list()
        bodies = [event.body for event in store.session(info.id, write=False).events()]
    assert talk(bodies)[0] == UserMessage("hello there")
    assert [body.content for body in bodies if isinstance(body, AssistantMessage)] == [answer]


def test_what_goes_wrong_with_spans_is_told_once(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    sender = SpanSender("http://127.0.0.1:9/v1/traces")
    logging.getLogger("opentelemetry").warning("nobody is there")
    sender.close()
    assert capfd.readouterr().err.count("nobody is there") == 1
    assert caplog.records == [], "no other handler hears of it"


async def test_a_collector_that_is_gone_is_reported_once_and_requests_are_recorded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refusing = Answer(body=b"no", status=401, content_type="text/plain")
    async with Provider(refusing) as collector:
        sender = SpanSender(f"{collector.url}/v1/traces")
        with Store.open(tmp_path / "proxy.db") as store:
            recording = Recording(store, export=sender.send_exchange)
            for text in ("one", "two"):
                recording.pass_through("/v1/messages", claude(user(text)), answered(said("Done.")))
            await asyncio.to_thread(sender.close)
            assert len(store.list()) == 2
            recording.sessions.close()
    assert capfd.readouterr().err.count("401") == 1
