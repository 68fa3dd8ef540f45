"""Knobs that were set in a session hold for every command that plans it, as they do on the screen."""

from __future__ import annotations

import pytest

from support.calls import Call
from support.requirements import requirement
from support.talk import turns
from workbench.log.events import Compaction, Setting
from workbench.log.store import Store
from workbench.session import opening
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import knobs_of

KNOBS = ["budget.max_input_tokens=3000", "compaction.mode=manual"]


@pytest.fixture
def session() -> str:
    """Four turns, a compaction, and behind them the knobs: the first are of no account any more."""
    with Store.open() as store, store.create(title="work") as made:
        made.append(Setting("model", "rehearsal"), *turns(4, 100), Compaction(4, 5, "what was said"))
        made.append(Setting("knobs", ["budget.max_input_tokens=777"]), Setting("knobs", KNOBS))
        return made.id


@pytest.mark.parametrize("command", ["plan", "compactions", "undo"])
def test_they_hold(call: Call, session: str, command: str) -> None:
    assert call(command, session, "--json").json["window"] == 3_000


def test_compact_and_ask_hold_to_them(call: Call, session: str) -> None:
    shown = call("compact", session, "--digest", "--dry-run", "--set", "compaction.keep_turns=0")
    assert "of 3,000 tokens" in shown.out
    assert call("ask", "--session", session, "word " * 4_000).code == 3


def test_what_a_command_is_given_wins_over_them(call: Call, session: str) -> None:
    given = call("plan", session, "--json", "--set", "budget.max_input_tokens=2000").json
    assert given["window"] == 2_000
    assert call("compactions", session, "--json", "--set", "compaction.mode=off").json["mode"] == "off"


def test_they_hold_from_where_they_were_set(call: Call, session: str) -> None:
    last = len(call("export", session).out.splitlines())
    windows = [call("plan", session, "--json", "--at", str(seq)).json["window"] for seq in range(last - 2, last + 1)]
    assert windows[1:] == [777, 3_000]
    assert windows[0] > 3_000


def test_a_session_that_goes_on_from_another_takes_them_along(call: Call, session: str) -> None:
    made = call("continue", session, "--digest", "--json").json["session"]
    with Store.open() as store, store.session(made, write=False) as view:
        assert knobs_of(view.events()) == tuple(KNOBS)
    assert call("plan", made, "--json").json["window"] == 3_000


@requirement("layers", "request", "every way into the program sends by the same rules")
def test_the_screen_and_the_command_plan_the_same(call: Call, session: str) -> None:
    with Services() as services:
        opened = opening.open_first_session(services, Options(), session)
        assert opened.session is not None
        seen = opened.plan
        opened.session.close()
    planned = call("plan", session, "--json").json
    assert planned["totals"] == seen.totals._asdict()
    assert planned["window"] == seen.limits.window == 3_000
