"""What came of an answer outlives the program that was killed, once, and marked."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.talk import preset
from support.validity import problems
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.render import render_messages
from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Body, Override, Reasoning, UserMessage
from workbench.log.store import Store
from workbench.models.tokens import counter_named

STREAM = """
import sys
from pathlib import Path
from workbench.log.drafts import Draft
from workbench.log.store import Store
session = Store.open(Path(sys.argv[1])).session("s")
for word in ("as ", "far ", "as it came"):
    assert session.keep_draft(Draft("r1", "gpt-4o", "", word))
print("kept", flush=True)
sys.stdin.read()
"""
CUT = AssistantMessage("as far as it came", "r1", "", "killed", "gpt-4o")


def bodies(store: Store) -> list[Body]:
    with store.session("s", write=False) as session:
        return [event.body for event in session.events()]


def test_what_came_before_a_kill_is_in_the_log_and_marked(
    path: Path, python: Callable[..., subprocess.Popen[str]]
) -> None:
    with Store.open(path) as store:
        store.create([UserMessage("go")], id="s").close()
        child = python(STREAM)
        assert child.stdout
        assert child.stdout.readline() == "kept\n"
        with Store.open(path) as meanwhile:  # it still comes in: nobody takes it for cut
            assert bodies(meanwhile) == [UserMessage("go")]
        watching = store.session("s")
        child.kill()
        child.wait()
        assert watching.take_over()
        assert [event.body for event in watching.refresh()] == [CUT]
    with Store.open(path) as store:
        assert bodies(store) == [UserMessage("go"), CUT]
        assert [info.events for info in store.list()] == [2]
        assert [hit.seq for hit in store.search("far")] == [2]


def test_a_list_an_export_and_a_plan_have_it_though_nobody_writes(path: Path) -> None:
    with Store.open(path) as store:
        session = store.create([UserMessage("go")], id="s")
        session.keep_draft(Draft("r1", "gpt-4o", "hm", "half"))
    with Store.open(path) as store:
        assert [info.events for info in store.list()] == [3]
        assert bodies(store)[1:] == [Reasoning("hm", "r1"), AssistantMessage("half", "r1", "", "killed", "gpt-4o")]


def test_what_is_appended_meanwhile_leaves_the_draft_alone(store: Store, path: Path) -> None:
    session = store.create([UserMessage("go")], id="s")
    session.keep_draft(Draft("r1", "", "", "half"))
    session.append(Override("pin", 1, 1))
    session.close()
    with Store.open(path) as other:
        assert bodies(other)[1:] == [Override("pin", 1, 1), AssistantMessage("half", "r1", "", "killed")]


def test_a_draft_waits_for_nobody_and_its_failure_stops_nothing(store: Store, path: Path) -> None:
    session = store.create([UserMessage("go")], id="s")
    with Store.open(path) as other, other._database.write_transaction():
        assert not session.keep_draft(Draft("r1", "", "", "half"))
    assert session.keep_draft(Draft("r1", "", "", "half \ud800"))
    with store._database.read_transaction() as db:
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert db.execute("PRAGMA busy_timeout").fetchone()[0] == 30_000


def test_a_session_that_is_deleted_takes_its_draft_along(store: Store, path: Path) -> None:
    session = store.create(id="s")
    session.keep_draft(Draft("r1", "", "", "half"))
    session.close()
    store.delete("s")
    with Store.open(path) as other:
        assert other.list() == []


PIECES = st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), min_size=1, max_size=6)


@given(PIECES, st.integers(0, 8))
def test_killed_at_any_point_the_log_has_the_answer_once_and_plans(
    shared: Store, pieces: list[tuple[str, str]], killed_at: int
) -> None:
    """`killed_at`: after so many drafts; beyond them, after the whole answer was appended."""
    session = shared.create([UserMessage("go")])
    thinking, text = ("".join(each) for each in zip(*pieces, strict=True))
    for piece in pieces[:killed_at]:
        session.keep_draft(Draft("r1", "m", *piece))
    whole = killed_at > len(pieces)
    if whole:
        session.append(Reasoning(thinking, "r1"), AssistantMessage(text, "r1", model="m"))
    session.close()
    again = shared.session(session.id)
    said = [event.body for event in again.events()[1:]]
    if whole:
        assert said == [Reasoning(thinking, "r1"), AssistantMessage(text, "r1", model="m")]
    else:
        thought, came = ("".join(each[at] for each in pieces[:killed_at]) for at in (0, 1))
        kept: list[Body] = [Reasoning(thought, "r1")] if thought else []
        assert said == ([*kept, AssistantMessage(came, "r1", "", "killed", "m")] if killed_at else [])
    again.append(UserMessage("and now?"))
    made = plan(
        number([event.body for event in again.events()]),
        preset("workbench"),
        Limits(9_000, "option", 0, 0),
        counter_named("o200k_base"),
    )
    sent = render_messages(made)
    assert not problems(sent)
    assert len([each for each in sent if each["role"] == "assistant"]) <= 1
    again.close()
