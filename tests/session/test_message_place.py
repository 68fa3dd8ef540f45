"""Which session a message goes to: the one that was open when it was typed, or none."""

from __future__ import annotations

import threading

import pytest

from tui.play import Script, Watcher, answer, opened, until
from workbench.models.failures import ModelFailure
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")

REFUSED = ModelFailure("bad_request", "refused.")


def from_user(on: Watcher) -> list[str]:
    return [text for kind, text in on.said if kind == "you"]


async def fail_with_waiting(on: Watcher, gate: threading.Event, *waiting: str) -> None:
    """Send a message that the model fails to answer, and others that wait meanwhile."""
    on.model.send("first")
    await until(lambda: on.activity.kind == "asking")
    for number, text in enumerate(waiting, 1):
        on.model.send(text)
        await until(lambda number=number: len(on.queue) == number)  # type: ignore[misc]
    gate.set()
    await on.settled()
    assert on.queue == waiting


async def test_what_waits_after_a_failure_is_not_sent_to_the_next_session(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, REFUSED], answer("hello")).play(monkeypatch)
    async with opened(services) as on:
        await fail_with_waiting(on, gate, "a secret of this session", "and another")
        on.model.new_session()
        await on.settled()
        assert on.queue == ()
        assert on.unsent == ["a secret of this session\n\nand another"]
        assert "not sent" in on.told
        on.model.send("hello B")
        await on.settled()
        assert from_user(on) == ["hello B"]
        on.model.new_session()
        await on.settled()
        assert len(on.unsent) == 1, "it is given back once"


async def test_what_waits_after_a_failure_is_not_sent_before_an_edited_message(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, REFUSED], answer("fine")).play(monkeypatch)
    async with opened(services) as on:
        await fail_with_waiting(on, gate, "second")
        first = next(on.transcript[at] for at in range(len(on.transcript)) if on.transcript[at].kind == "you")
        on.model.edit_and_resend(first.seq, "first, edited")
        await on.settled()
        assert from_user(on) == ["first, edited"]
        assert on.unsent == ["second"]


async def test_what_waits_stays_where_nothing_else_can_be_opened(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, REFUSED]).play(monkeypatch)
    async with opened(services) as on:
        await fail_with_waiting(on, gate, "second")
        on.model.open_session("neither")
        await on.settled()
        assert "neither: no such file" in on.told
        assert (on.queue, on.unsent) == (("second",), [])
