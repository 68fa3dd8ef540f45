"""The recorded session: what is in it, that it can be made again, and that it tells nothing of who made it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, set_up
from workbench.demo import record
from workbench.demo.project import texts
from workbench.log.codec import decode_event
from workbench.log.events import Compaction, Event, Override, Reasoning, ToolCall, ToolResult, Usage
from workbench.models.catalogue import Catalogue
from workbench.sources.source import setting_in

pytestmark = pytest.mark.xdist_group("litellm")


@pytest.fixture(scope="module")
def recorded() -> list[Event]:
    return [decode_event(line) for line in record.RECORDING.read_text("utf-8").splitlines()]


def structure(events: Sequence[Event]) -> list[str]:
    """The order of events, with the tools that were called. Calls that run together may end in any order."""
    return [f"{type(event.body).__name__} {getattr(event.body, 'tool', '')}" for event in events]


def states(events: Sequence[Event]) -> dict[int, str]:
    """What becomes of each event under the recording's own policy."""
    setup = set_up(PlanOptions(model="rehearsal", sets=record.KNOBS), Settings(), Catalogue())
    return {row.seq: row.state for row in setup.plan(events).items if row.seq is not None}


def facts(events: Sequence[Event]) -> list[tuple[int, int]]:
    """What each compaction kept and lost."""
    found = [event.body.meta for event in events if isinstance(event.body, Compaction)]
    return [(meta["facts_kept"], meta["facts_lost"]) for meta in found]


def test_it_can_be_recorded_again(recorded: list[Event]) -> None:
    again = asyncio.run(record.record())
    assert structure(again) == structure(recorded)
    assert states(again) == states(recorded)
    assert facts(again) == facts(recorded)


def test_every_pane_has_something_to_show(recorded: list[Event]) -> None:
    assert {"sent", "truncated", "masked", "summarised", "aside"} <= set(states(recorded).values())
    bodies = [event.body for event in recorded]
    assert any(isinstance(body, ToolResult) and body.is_error for body in bodies)
    assert any(isinstance(body, Reasoning) for body in bodies)
    assert any(isinstance(body, Override) and body.action == "pin" for body in bodies)
    compactions = [body for body in bodies if isinstance(body, Compaction)]
    assert len(compactions) == 1
    assert compactions[0].meta["made_by"] == "rehearsal"
    assert compactions[0].meta["facts_lost"] > 0
    usages = [body for body in bodies if isinstance(body, Usage)]
    assert all(usage.prompt == usage.estimate for usage in usages), "the rehearsal model counts as we do"
    assert any(usage.cached for usage in usages)
    assert (setting_in(recorded, "model"), setting_in(recorded, "policy")) == ("rehearsal", "workbench")


def test_it_is_small_and_has_no_path_of_the_machine_that_made_it(recorded: list[Event]) -> None:
    text = record.RECORDING.read_text("utf-8")
    assert len(text) < 400_000
    paths = set(re.findall(r"(?<![\w.])/(?:[\w.-]+/)+[\w.-]*", text))
    own = {path for path in paths if not path.startswith((record.HOME, "/usr/bin/python3"))}
    assert own == set()


def test_what_the_model_says_of_the_figures_is_true(recorded: list[Event]) -> None:
    results = "\n".join(str(event.body.content) for event in recorded if isinstance(event.body, ToolResult))
    for said in ("failures=18", "35 orders of month 11 are wrong", "0 orders of month 11 are wrong", "Ran 131 tests"):
        assert said in results
    assert "order 1002: invoice 36.31, exact 36.32" in results
    assert "order 1038: invoice 16.75, exact 16.74" in results
    assert len({line.split(",")[0] for line in dict(texts())["data/orders.csv"].splitlines()[1:]}) == 260


def test_every_call_has_its_result(recorded: list[Event]) -> None:
    calls = [event.body.call_id for event in recorded if isinstance(event.body, ToolCall)]
    results = [event.body.call_id for event in recorded if isinstance(event.body, ToolResult)]
    assert sorted(calls) == sorted(results)


def test_the_users_own_config_folder_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WORKBENCH_CONFIG_DIR")
    with record._alone(tmp_path):
        pass
    assert "WORKBENCH_CONFIG_DIR" not in os.environ
