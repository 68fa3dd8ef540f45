"""Requests of a log from elsewhere, sent again: models, headers, bodies, addresses and redirects that lead astray.

A fault: a key at a server that the user did not name for it, another path or model than the question says, a header
of the log's own, or an error of more than a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any, get_args

from hostile.tally import Tally, check_one_line
from support.provider import Answer, Provider
from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.log.events import DialectName, OwnDialect, Request
from workbench.proxy.resending import key_for
from workbench.proxy.routes import route_of
from workbench.proxy.sessions import ProxySessions, ReceivedAnswer, SentRequest
from workbench.sources.options import Options
from workbench.sources.replaying import ReplayWish, prepare_replay, send_replay
from workbench.sources.services import Services
from workbench.sources.source import Source

KEY = "sk-hostile-0123456789abcdef"
VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
PATHS: dict[DialectName, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
    "ollama": "/api/chat",
}
BODIES: dict[DialectName, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
    "responses": {"model": "m", "input": [{"role": "user", "content": "x"}]},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "x"}]}]},
    "ollama": {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": False},
}
NAMES = (
    "m", "gemini-2.5-pro", "publisher/model", "m:free", "../../upload/x", "..", ".", "a/../../b", "/etc", "m?key=1",
    "m#x", "m%2e",
    "m\r\nX: y", "m\n", "\x00", "\\\\evil\\x", "http://evil.example/x", "//evil.example/x",
    "m" * 300, "m:streamGenerateContent?",
    "\u202em", "é", "m m", "{model}", "{0}", "%s", "@evil.example", "m;x", "../m",
)  # fmt: skip
VALUES = ("x", "a\r\nX-Evil: 1", "a\nb", "\x00", "é", "", " x", "x" * 100_000, "2023-06-01", "\ud800", "a, b", "\x7f")
HEADERS = (
    "anthropic-beta",
    "Anthropic-Beta",
    "anthropic-version",
    "openai-beta",
    "authorization",
    "cookie",
    "x-api-key",
    "host",
)
PARAMETERS: tuple[dict[str, Any], ...] = (
    {}, {"model": "dear"}, {"model": 1}, {"model": None}, {"model": ["m"]}, {"stream": "x"}, {"model": "m\r\n"},
    {"x": "\ud800"},
)  # fmt: skip
ADDRESSES = (
    "http://127.0.0.1:9", "http://127.0.0.1:0", "http://[::1]:9", "http://x@127.0.0.1:9", "http://127.0.0.1:99999",
    "http://",
    "ftp://127.0.0.1", "file:///etc/passwd", "http://" + "a" * 70 + ".invalid", "http://127.0.0.1:9\r\nX: y",
    "http://[", "x",
    "http://127.0.0.1:9/a b", "http://127.0.0.1:9/?x=", "http://127.0.0.1:9#", "//127.0.0.1:9", "http://é..invalid",
)  # fmt: skip


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how many requests."""
    tally = Tally("requests sent again")
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, KEY))
    try:
        asyncio.run(_all(tally, tries, chance))
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    return tally


async def _all(tally: Tally, tries: int, chance: random.Random) -> None:
    refused = 0
    with Services() as services:
        sources = {dialect: services.source(recorded_session(services, dialect)) for dialect in get_args(OwnDialect)}
        for number in range(tries):
            dialect = chance.choice(get_args(OwnDialect))
            name = chance.choice(NAMES if chance.random() < 0.5 else NAMES[:4])
            headers = {chance.choice(HEADERS): chance.choice(VALUES) for _ in range(2)}
            parameters = chance.choice(PARAMETERS) if chance.random() < 0.3 else {}
            source = _changed(sources[dialect], name, headers, parameters)
            with tally.watching(f"{dialect}, {name[:40]!r}, {headers}, {parameters}"[:400]):
                try:
                    await _sent_again(services, source, dialect, name, number % 3, chance)
                except WorkbenchError as error:
                    check_one_line(error)
                    refused += 1
    tally.told = f"{refused:,} refused"


def recorded_session(services: Services, dialect: DialectName) -> str:
    """A session of one request that came through the proxy: its id."""
    sessions = ProxySessions(lambda: services.store)
    known = {info.id for info in services.store.list()}
    sent = sessions.open_request(SentRequest(route_of(PATHS[dialect], {}), {}, BODIES[dialect], 1))
    assert sent is not None
    sessions.add_answer(sent, ReceivedAnswer(200, {}, {}, 10, 1_500))
    sessions.close()
    [made] = {info.id for info in services.store.list()} - known
    return made


def _changed(source: Source, name: str, headers: dict[str, str], parameters: dict[str, Any]) -> Source:
    """The same log, as somebody wrote it who means harm."""
    events = [
        replace(
            event,
            body=replace(
                event.body,
                model=name,
                headers=headers,
                parameters={**event.body.parameters, "model": name, **parameters},
            ),
        )
        if isinstance(event.body, Request)
        else event
        for event in source.events
    ]
    return source._replace(events=events)


async def _sent_again(
    services: Services, source: Source, dialect: DialectName, name: str, kind: int, chance: random.Random
) -> None:
    """To an odd address, to a server that answers, or to one that sends it on; with the key only in the last case."""
    if kind == 0:
        job = prepare_replay(services, Options(), source, ReplayWish(to=chance.choice(ADDRESSES)))
        assert not job.sends_key, "the key would go to another server"
        [made] = [answer async for answer in send_replay(services, job)]
        assert made.problem
        return
    key = key_for(dialect, name, needed=False)  # Ollama may have none
    has_key = kind == 2 and bool(key)
    how = "with your key" if has_key else "without your key" if key else "without a key"
    other = Provider(Answer(body=b"{}", content_type="application/json"))
    async with other:
        onward = Answer(status=chance.choice((301, 302, 303, 307, 308)), headers={"Location": f"{other.url}/x"})
        answer = Answer(body=b"{}", content_type="application/json") if kind == 1 else onward
        async with Provider(answer) as provider:
            address = provider.url.removesuffix("/v1")
            job = prepare_replay(services, Options(), source, ReplayWish(to=address, send_key=kind == 2))
            assert f" at {address}, {how}" in job.question
            assert f"to {name} at" in job.question, "the question names another model"
            [_] = [each async for each in send_replay(services, job)]
            [request] = provider.requests
    assert other.requests == [], "a redirect was followed"
    assert (KEY in str(request.headers)) == has_key, "the key"
    expected = f"/v1beta/models/{name}:generateContent" if dialect == "gemini" else PATHS[dialect]
    assert request.path == expected, request.path
    assert dialect == "gemini" or request.body["model"] == name, "another model was asked"
    assert not {"x-evil", "cookie", "x"} & request.headers.keys(), "a header of the log"
    assert KEY not in json.dumps(request.body)
