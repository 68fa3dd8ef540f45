"""Sessions that are begun here, with the rehearsal model, and random things that a user does in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tui.play import Watcher
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import Refused
from workbench.context.policy_names import PRESETS
from workbench.rehearsal.faults import Fault
from workbench.rehearsal.rehearsal_model import PlayedAnswer, RehearsalModel
from workbench.rehearsal.summaries import is_summary_request
from workbench.session.opening import new_session
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.wire.checked_requests import CheckedRequest

WINDOW = 16_000
FILES = 6
POLICIES = sorted(set(PRESETS) - {"recorded"})


class Wire:
    """What reached the model: the requests of turns, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bodies: list[dict[str, Any]] = []
        play = RehearsalModel.play

        def noting(model: RehearsalModel, request: CheckedRequest, fault: Fault | None = None) -> PlayedAnswer:
            if not is_summary_request(request):
                self.bodies.append(json.loads(json.dumps(request.body)))
            return play(model, request, fault)

        monkeypatch.setattr(RehearsalModel, "play", noting)


def write_files(folder: Path) -> None:
    """Something to read: two thousand tokens each."""
    for at in range(FILES):
        lines = (f"line {line} of src/file{at}.py: port {8000 + line * 7 + at}" for line in range(160))
        (folder / f"f{at}.txt").write_text("\n".join(lines), "utf-8")


def begun(services: Services, **options: Any) -> str:
    """A session with nothing in it yet; its id."""
    opened = new_session(services, Options(**options))
    assert opened.session is not None
    with opened.session as session:
        return session.id


async def say(on: Watcher, text: str) -> None:
    """Say something, and agree to a compaction where one is offered."""
    on.model.send(text)
    await on.settled()
    while on.question is not None:
        on.model.answer(on.question.number, "yes")
        await on.settled()


async def work(on: Watcher, turns: int) -> None:
    """Turns with three calls each, of which many do not fit into the window together."""
    for at in range(turns):
        await say(on, f"read f{at % FILES}.txt then list . then read f{(at + 1) % FILES}.txt")


SAID = (
    "hello",
    "read f1.txt",
    "read f0.txt then read f2.txt",
    "list . then read f3.txt then read f4.txt",
    "explain it",
)
KNOBS = ("masking.keep_last=1", "truncation.max_tokens=300", "compaction.mode=manual", "history.max_tokens=3000")
ACTIONS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(SAID)),
    st.tuples(st.just("say"), st.sampled_from(SAID)),
    st.tuples(st.sampled_from(["pin", "exclude", "mask", "unmask", "include", "unpin"]), st.floats(0, 1)),
    st.tuples(st.sampled_from(["undo", "redo", "compact"]), st.none()),
    st.tuples(st.just("policy"), st.sampled_from(POLICIES)),
    st.tuples(st.just("knob"), st.sampled_from(KNOBS)),
    st.tuples(st.just("instructions"), st.sampled_from(["Be brief.", "Never touch the schema.\n" * 20])),
)


async def act(on: Watcher, action: tuple[str, Any], folder: Path) -> None:
    """Do one of them; what cannot be done at this moment is refused, and that is all."""
    match action:
        case "say", text:
            await say(on, text)
        case "policy", name:
            on.model.switch_policy(name)
        case "knob", knob:
            on.model.set_knob(knob)
        case "instructions", text:
            (folder / "AGENTS.md").write_text(text, "utf-8")
        case "compact", _:
            try:
                preview = await on.model.preview_compaction(True)
                await on.model.compact_as_previewed(preview, True)
            except (Refused, CompactionRefused):
                pass
        case "undo" | "redo" as which, _:
            on.model.revert(which)
        case ("pin" | "unpin" | "mask" | "unmask" | "exclude" | "include") as override, share:
            rows = [row.seq for row in on.shown.plan.items if row.seq is not None and row.unit >= 0]
            if rows:
                seq = rows[min(int(share * len(rows)), len(rows) - 1)]
                on.model.decide(override, seq, seq)
    await on.settled()
