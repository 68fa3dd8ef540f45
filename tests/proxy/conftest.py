"""What the tests of the proxy share: requests and answers in the dialects, and sessions in a real store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from workbench.log.events import Body, Request, Setting
from workbench.log.store import Store
from workbench.proxy.conversation_marks import MarkedConversations
from workbench.proxy.routes import route_of
from workbench.proxy.sessions import OpenRequest, ProxySessions, ReceivedAnswer, SentRequest
from workbench.wire.requests import RequestBodies

LS: dict[str, Any] = {"name": "ls", "description": "list", "input_schema": {"type": "object", "properties": {}}}


class Recording(MarkedConversations):
    """Sessions of a proxy in a store, and what passes through it."""

    def __init__(self, store: Store, **more: Any) -> None:
        super().__init__(more.get("redact"))
        self.store = store
        self.sessions = ProxySessions(lambda: store, **more)

    def note_setting(self, session: str, setting: Setting) -> None:
        self.sessions.add_session_event(session, setting)

    def send(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None, at: int = 1
    ) -> OpenRequest:
        asked = self.sessions.open_request(SentRequest(route_of(path, headers or {}), headers or {}, body, at))
        assert asked is not None
        self.learn([asked.stored.mark()])
        return asked

    def answer(self, asked: OpenRequest, body: dict[str, Any], status: int = 200, problem: str = "") -> None:
        finish = "broken" if problem else ""
        self.sessions.add_answer(asked, ReceivedAnswer(status, {}, body, 10, 20, problem, finish))

    def pass_through(
        self, path: str, body: dict[str, Any], answer: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> OpenRequest:
        asked = self.send(path, body, headers)
        self.answer(asked, answer)
        return asked

    def bodies(self, number: int = 0) -> list[Body]:
        """The events of a session, the one that was begun first being 0."""
        infos = sorted(self.store.list(), key=lambda info: (info.created, info.id))
        return [event.body for event in self.store.session(infos[number].id, write=False).events()]

    def requests(self, number: int = 0) -> list[Request]:
        return [body for body in self.bodies(number) if isinstance(body, Request)]

    def sent(self, number: int = 0) -> list[dict[str, Any]]:
        """The requests of a session, put together again."""
        infos = sorted(self.store.list(), key=lambda info: (info.created, info.id))
        events = self.store.session(infos[number].id, write=False).events()
        found = RequestBodies(events)
        return [found.body(event.seq) for event in events if isinstance(event.body, Request)]


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    with Store.open(tmp_path / "proxy.db") as store:
        made = Recording(store)
        yield made
        made.sessions.close()


def claude(*messages: dict[str, Any], system: str = "You are an agent.", **more: Any) -> dict[str, Any]:
    """A request in Anthropic's dialect."""
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": system}],
        "tools": [LS],
        "messages": [*messages],
        **more,
    }


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def called(name: str, **given: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "ls", "input": given}]}


def result(name: str, text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": text}]}


def answered(message: dict[str, Any], tokens: int = 50) -> dict[str, Any]:
    """What Anthropic answers, whose content is that of a message."""
    used = {"input_tokens": tokens, "output_tokens": 7, "cache_read_input_tokens": 30}
    return {"id": f"msg_{tokens}", "model": "claude-sonnet-4-5-20250929", "content": message["content"], "usage": used}
