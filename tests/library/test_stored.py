"""With a store the program shows what an agent does; without one nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from library.test_context import call
from support.validity import problems
from workbench.cli.main import main
from workbench.library.pages import compaction_page
from workbench.log.events import UserMessage
from workbench.log.store import Store
from workbench.sources.options import Options
from workbench.sources.services import Services


def test_nothing_is_written_without_a_store(tmp_path: Path) -> None:
    context = workbench.Context()
    context.add("hi")
    context.request()
    context.compact_now()
    workbench.plan([{"role": "user", "content": "hi"}])
    assert list(tmp_path.iterdir()) == []


def test_the_program_plans_the_stored_session_as_the_context_does(capsys: pytest.CaptureFixture[str]) -> None:
    with workbench.Context("layers", window=16_000, keep_last=2, system="Work.", store="nightly") as context:
        context.add("go")
        for at in range(12):
            context.extend(call(at, "word " * 700))
            context.request()
            context.report({"prompt_tokens": context.plan.tokens, "completion_tokens": 3})
        ours = context.plan
        assert main(["plan", "nightly", "--json"]) == 0  # while the agent runs
        shown = json.loads(capsys.readouterr().out)
    assert shown["window"] == 16_000
    assert shown["totals"] == ours.to_dict()["totals"]
    assert [row for row in shown["items"] if row["kind"] != "aside"] == [
        row for row in ours.to_dict()["items"] if row["kind"] != "aside"
    ]
    with Services() as services:
        source = services.source("nightly")
        assert services.set_up(Options(), source).plan(source.events).size == ours.tokens
    with workbench.open("nightly") as session:
        assert [request.reported for request in session.requests][-1] == ours.tokens
        assert session.requests[-1].unattributed == 0
        assert [request.number for request in session.requests] == list(range(1, 13))


def test_a_stored_session_goes_on(tmp_path: Path) -> None:
    with workbench.Context(store="work", window=16_000) as context:
        context.add("go")
        context.extend(call(1))
        before = context.plan.messages
        with pytest.raises(workbench.WorkbenchError, match="read-only"):
            workbench.Context(store="work")
    with workbench.Context(store="work", window=16_000) as context:
        assert context.plan.messages == before
        context.add("and now?")
        assert context.plan.messages[-1] == {"role": "user", "content": "and now?"}
    with Store.open() as store:
        assert [info.title for info in store.list()] == ["work"]


def test_a_context_goes_on_in_the_original_of_several_sessions_with_its_title() -> None:
    with workbench.Context(store="work") as context:
        context.add("go")
    with Store.open() as store:
        [original] = [info.id for info in store.list()]
        fork = store.fork(original).id
    for store_name, said in (("work", "original"), ("work", "again"), (fork, "fork")):
        with workbench.Context(store=store_name) as context:
            context.add(said)
    with Store.open() as store:
        assert {info.id for info in store.list()} == {original, fork}
    for name, texts in ((original, ["go", "original", "again"]), (fork, ["go", "fork"])):
        with workbench.Context(store=name) as context:
            assert [item.text for item in context.plan.items] == texts


def test_a_title_is_not_taken_for_the_beginning_of_an_id() -> None:
    with Store.open() as store:
        other = store.create([UserMessage("mine")], title="other", id="1abc")
        other.close()
    with workbench.Context(store="1") as context:
        assert list(context.plan.items) == []
    with Store.open() as store:
        assert {info.title for info in store.list()} == {"1", "other"}


def test_replies_after_a_break_are_replies_of_their_own() -> None:
    gemini = [
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
    ]
    for messages in ([*call(1)], gemini):
        with workbench.Context(store=str(len(messages[0])), window=16_000) as context:
            context.add("go")
            context.extend(messages)
            once = context.plan.messages
        with workbench.Context(store=str(len(messages[0])), window=16_000) as context:
            context.extend(messages if messages is gemini else call(2))
            sent = context.plan.messages
            assert sent[: len(once)] == once
            assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "tool"]
            assert problems(sent) == []


def test_a_path_is_a_store_of_its_own(tmp_path: Path) -> None:
    for store in (tmp_path / "runs.db", str(tmp_path / "other.db")):
        with workbench.Context(store=store) as context:
            context.add("go")
        with workbench.Context(store=store) as context:
            assert [item.text for item in context.plan.items] == ["go"]
    with Store.open() as ordinary:
        assert ordinary.list() == []


def test_a_store_without_sessions_is_refused_in_words(tmp_path: Path) -> None:
    with Store.open(tmp_path / "empty.db"):
        pass
    with pytest.raises(workbench.WorkbenchError, match=r"empty\.db: this store has no sessions"):
        workbench.open(tmp_path / "empty.db")


def test_a_transcript_of_another_agent_opens(talk: Path) -> None:
    session = workbench.open(talk)
    assert [request.number for request in session.requests] == [1, 2]
    items = session.request(2).items
    assert [item.role for item in items] == ["system", "user", "assistant", "assistant", "tool"]
    assert session.request(-1) == session.requests[-1]
    assert session.plan(policy="layers", truncation__max_tokens=100).items[4].state == "truncated"
    assert session.plan().policy == "recorded"
    assert session.compactions == ()
    result = session.lab(["codex", workbench.policy("layers", truncation__max_tokens=100)])
    assert [row["policy"] for row in result.rows] == ["codex", "layers"]
    assert result.to_dict()["schema"] == session.to_dict()["schema"] == 1
    with pytest.raises(workbench.WorkbenchError, match="expected a number from 1 to 2, got 3"):
        session.request(3)
    with pytest.raises(workbench.WorkbenchError, match="no such file"):
        workbench.open("nowhere")


def test_a_notebook_shows_how_full_the_window_is() -> None:
    plan = workbench.plan([{"role": "user", "content": "hello"}], policy="codex", window=20_000)
    assert f"codex: {plan.tokens:,} of 20,000 tokens, fits" in plan._repr_html_()


HOSTILE: Any = "<script>alert(1)</script><img src=x onerror='alert(2)'>\x1b[31m\u202e\"&"


def test_a_notebook_shows_which_facts_a_summary_lost() -> None:
    with_loss, without = (
        str(compaction_page("why", 900, 90, "m", "short", lost)) for lost in (["port 8443", "src/app.py"], [])
    )
    assert with_loss.index("lost facts") < with_loss.index("port 8443") < with_loss.index("src/app.py")
    assert "lost facts" not in without


def test_what_a_notebook_shows_holds_no_markup_of_others(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": HOSTILE}, *call(1, HOSTILE * 2_000), {"role": "user", "content": HOSTILE}]
    messages[1]["tool_calls"][0]["function"]["name"] = HOSTILE
    context = workbench.Context("codex", model=HOSTILE, window=20_000, min_freed=0)
    context.extend(messages)
    file = tmp_path / "<b>talk.json"
    file.write_text(json.dumps(messages))
    with workbench.open(file) as session:
        pages = [
            context._repr_html_(),
            context.plan._repr_html_(),
            context.compact_now(lambda asked: HOSTILE)._repr_html_(),
            session._repr_html_(),
            session.plan(policy="layers")._repr_html_(),
            session.lab(["codex"])._repr_html_(),
        ]
    for page in pages:
        assert page.startswith("<div>")
        tags = {part.partition(">")[0].split(" ")[0] for part in page.split("<")[1:]}
        assert tags <= {
            "div",
            "/div",
            "b",
            "/b",
            "span",
            "/span",
            "table",
            "/table",
            "tr",
            "/tr",
            "td",
            "/td",
            "th",
            "/th",
        }
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert "onerror='" not in page


def test_pandas_is_asked_for_in_a_sentence(monkeypatch: pytest.MonkeyPatch, talk: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(workbench.WorkbenchError, match="pip install pandas"):
        workbench.plan(["hi"]).to_pandas()


def test_rows_as_a_data_frame(talk: Path) -> None:
    pytest.importorskip("pandas")
    session = workbench.open(talk)
    assert list(session.to_pandas()["number"]) == [1, 2]
    assert list(session.plan(policy="layers").to_pandas()["state"])[:1] == ["sent"]
    assert list(session.lab(["codex"]).to_pandas()["policy"]) == ["codex"]
