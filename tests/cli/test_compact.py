"""`workbench compact` and `workbench continue`, as a user or a program calls them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.calls import Call
from support.drafts import work
from support.requirements import requirement
from support.talk import iterations, words
from support.terminal import Terminal
from workbench.cli import compact
from workbench.compaction.continuation import PREFACE
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.prompts import recall_note
from workbench.log.codec import decode_event
from workbench.log.events import CONTINUED_FROM, AssistantMessage, Body, Compaction, Failure, Setting, UserMessage
from workbench.log.store import Store
from workbench.sources.source import number_events
from workbench.traces.openai_messages import to_openai

pytestmark = pytest.mark.xdist_group("litellm")

WINDOW = ("--window", "20000")
SHAPE = {
    *("range", "kept", "tokens_before", "tokens_after", "source_tokens", "summary_tokens", "ratio", "summary"),
    *("request_ratio", "audit", "trigger", "why", "refused"),
}


@pytest.fixture
def session() -> str:
    """A session of eight turns."""
    with Store.open() as store, store.create(work(8), title="eight bugs") as made:
        return made.id


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(to_openai(number_events(work(8)))), encoding="utf-8")
    return file


def bodies(call: Call, session: str) -> list[object]:
    return [decode_event(line).body for line in call("export", session).out.splitlines()]


def configured(text: str) -> None:
    folder = Path(os.environ["WORKBENCH_CONFIG_DIR"])
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)


def test_a_session_is_compacted_and_the_json_has_the_documented_form(call: Call, session: str) -> None:
    before = call("plan", session, "--json", *WINDOW).json
    outcome = call("compact", session, "--json", "--digest", *WINDOW)
    assert outcome.code == 0
    told = outcome.json
    assert told.keys() >= SHAPE
    assert told["tokens_before"] == before["totals"]["tokens"]
    assert told["tokens_after"] == call("plan", session, "--json", *WINDOW).json["totals"]["tokens"]
    assert told["ratio"] == pytest.approx(told["source_tokens"] / told["summary_tokens"], abs=0.001)
    assert (told["range"]["to"], told["trigger"], told["why"], told["refused"]) == (25, "manual", "by hand", None)
    assert told["request_ratio"] == pytest.approx(told["tokens_before"] / told["tokens_after"], abs=0.001)
    kept = [(row["kind"], row["role"]) for row in told["kept"]]
    assert kept == [("message", "user")] * 6
    sent = {row["text"] for row in call("plan", session, "--json", *WINDOW).json["items"] if row["state"] == "sent"}
    assert {row["text"] for row in told["kept"]} <= sent
    assert told["audit"].keys() >= {"score", "kept", "lost"}
    for fact in (*told["audit"]["kept"], *told["audit"]["lost"]):
        assert fact.keys() == {"text", "kind", "event"}
    last = bodies(call, session)[-1]
    assert isinstance(last, Compaction)
    assert last.summary == told["summary"]
    assert last.meta["trigger"] == "manual"


def test_a_file_is_compacted_by_the_rehearsal_model_and_nothing_is_stored(call: Call, transcript: Path) -> None:
    outcome = call("compact", transcript, "--json", *WINDOW)
    assert outcome.code == 0
    assert outcome.json["made_by"] == "rehearsal"
    assert "without AI" in outcome.json["summary"]
    assert outcome.json["problems"] == []
    assert call("sessions", "--json").json["sessions"] == []


@requirement(
    "confirm",
    "commands",
    "a chat bot has the command too, and shows the usage before and after",
    decided="there is no chat bot; `workbench compact` does it without a screen",
)
def test_by_hand_the_figures_the_summary_and_the_new_usage_are_shown(call: Call, session: str) -> None:
    shown = call("compact", session, "--digest", *WINDOW)
    assert shown.code == 0
    for line in (
        "summarises   18 items",
        "keeps        6 events of that range",
        "asks         no model: the digest",
        "prompt cache kept up to token",
    ):
        assert line in shown.out
    assert "Digest of 18 items" in shown.out
    assert "context  4," in shown.out
    assert f"undo it with: workbench undo {session}" in shown.out
    assert "· auditing" in shown.err


def test_what_frees_too_little_is_said_and_done_after_a_yes(call: Call) -> None:
    log: list[Body] = [
        UserMessage("hello"),
        AssistantMessage("hi", "r1"),
        UserMessage("and"),
        AssistantMessage("so", "r2"),
    ]
    with Store.open() as store, store.create(log) as made:
        session = made.id
    asked = ("compact", session, "--digest", "--policy", "confirm", *WINDOW)
    for more in ((), ("--json",)):
        refused = call(*asked, *more)
        assert refused.code == 3
        assert "< 10 %; --yes compacts all the same" in refused.err
    assert not any(isinstance(body, Failure | Compaction) for body in bodies(call, session))
    done = call(*asked, "--yes")
    assert done.code == 0
    assert "less than compaction.min_freed asks for" in done.out
    assert isinstance(bodies(call, session)[-1], Compaction)


def test_one_long_turn_is_compacted_by_hand_under_the_default_policy(call: Call) -> None:
    log = [UserMessage("look at all of them"), *iterations([words(900)] * 30)]
    with Store.open() as store, store.create(log) as made:
        session = made.id
    done = call("compact", session, "--json", "--digest", "--window", "100000")
    assert done.code == 0
    assert done.json["tokens_after"] < done.json["tokens_before"] / 5
    assert [row["text"] for row in done.json["kept"]] == []


def test_a_dry_run_makes_the_draft_and_stores_nothing(call: Call, session: str) -> None:
    before = bodies(call, session)
    outcome = call("compact", session, "--digest", "--dry-run", *WINDOW)
    assert outcome.code == 0
    assert "nothing was stored" in outcome.out
    assert bodies(call, session) == before


def test_a_refusal_exits_3_with_its_reason_and_is_not_noted_where_nothing_was_tried(call: Call, session: str) -> None:
    outcome = call("compact", session, "--json", "--set", "compaction.min_freed=0.99", "--digest", *WINDOW)
    assert outcome.code == 3
    assert "% < 99 %" in outcome.err
    assert not [body for body in bodies(call, session) if isinstance(body, Failure)]
    with Store.open() as store, store.create([UserMessage("hello")]) as made:
        short = made.id
    nothing = call("compact", short, "--digest")
    assert nothing.code == 3
    assert "nothing to compact" in nothing.err
    assert not [body for body in bodies(call, short) if isinstance(body, Failure)]


@requirement("confirm", "commands", "compacting by hand asks with the figures first, and no is the default")
@requirement(
    "confirm",
    "commands",
    "the question before a compaction by hand has words of its own",
    decided="both questions have the same words and figures",
)
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 3), ("no", 3)])
def test_at_a_terminal_it_asks_and_no_is_the_default(
    call: Call, session: str, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    answers = [answer]
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", answers.pop)
    outcome = call("compact", session, "--digest", *WINDOW)
    assert outcome.code == code
    assert not answers, "it asked"
    assert re.search(
        r"^Context usage at 2\d% \([\d,]+/20,000 tokens\)\. Compact conversation\? \[y/N\] ", outcome.out, re.M
    )
    assert any(isinstance(body, Compaction) for body in bodies(call, session)) == (code == 0)
    assert not any(isinstance(body, Failure) for body in bodies(call, session)), "to decline is no failure"
    answers.append(answer)
    call("compact", session, "--digest", "--dry-run", *WINDOW)
    call("compact", session, "--digest", "--yes", *WINDOW)
    assert answers == [answer], "it did not ask again"


def test_the_end_of_the_input_at_the_question_means_no(call: Call, session: str) -> None:
    terminal = Terminal("compact", session, "--digest", *WINDOW)
    terminal.wait_for("[y/N]")
    terminal.press("\x04")
    assert terminal.end() == 3
    assert b"nothing was compacted" in terminal.seen
    assert not any(isinstance(body, Compaction) for body in bodies(call, session))


def test_one_interrupt_at_the_question_ends_the_program(call: Call, session: str) -> None:
    terminal = Terminal("compact", session, "--digest", *WINDOW)
    terminal.wait_for("[y/N]")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert not any(isinstance(body, Compaction) for body in bodies(call, session))


def test_a_dry_run_shows_the_figures_and_does_not_ask(call: Call, session: str) -> None:
    shown = call("compact", session, "--digest", "--dry-run", *WINDOW)
    assert shown.code == 0
    assert "frees        about" in shown.out


def test_what_the_summary_before_held_and_this_one_dropped_is_shown(call: Call) -> None:
    held = "\n".join(f"- https://example.org/{at} was looked at, and nothing came of it" for at in range(200))
    said = [*work(3), Compaction(1, 4, held), *work(5, first=4)]
    with Store.open() as store, store.create(said) as made:
        session = made.id
    shown = call("compact", session, "--digest", *WINDOW)
    assert shown.code == 0
    assert re.search(r"^dropped  url: https://example.org/\d+, in the previous summary \(", shown.out, re.MULTILINE)


def test_with_a_summary_of_the_users_own_nobody_is_asked(call: Call, session: str, tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("All is well.\n")
    shown = call("compact", session, "--summary", tmp_path / "own.md", *WINDOW)
    assert (shown.code, "asks         no model: the summary is yours\n" in shown.out) == (0, True)


def test_hooks_may_veto_and_are_told(call: Call, session: str, tmp_path: Path) -> None:
    configured('[hooks]\nbefore_compact = ["echo not now >&2; exit 2"]\n')
    vetoed = call("compact", session, "--digest", *WINDOW)
    assert vetoed.code == 3
    assert "a hook refused the compaction: not now" in vetoed.err
    assert isinstance(bodies(call, session)[-1], Failure)
    told = tmp_path / "told.json"
    configured(f"[hooks]\nbefore_compact = ['exit 1']\nafter_compact = ['cat > {told}']\n")
    assert call("compact", session, "--digest", *WINDOW).code == 0
    payload = json.loads(told.read_text())
    assert payload["point"] == "after_compact"
    assert payload["freed"] > 0


def test_what_the_model_did_wrong_is_said_beside_the_digest(call: Call, session: str) -> None:
    configured("[requests]\ntries = 1\n")
    base = ("--api-base", "http://127.0.0.1:9/v1", "-m", "openai/m")
    outcome = call("compact", session, "--json", *WINDOW, "--set", "compaction.prompt=codex", *base)
    assert outcome.code == 0
    assert outcome.json["made_by"] == "digest"
    assert outcome.json["problems"][0].startswith("model: connection")
    assert "· model: connection" in outcome.err


def test_wrong_calls_are_told_before_anything_is_done(call: Call, session: str, tmp_path: Path) -> None:
    missing = call("compact", session, "--set", f"compaction.prompt=file:{tmp_path / 'gone.md'}")
    assert missing.code == 2
    assert "gone.md: cannot be read" in missing.err
    assert call("compact", "nobody").code == 2
    assert call("continue", "nobody").code in (1, 2)


def test_a_session_that_is_open_elsewhere_is_left_alone(call: Call, session: str) -> None:
    script = (
        "import sys; from workbench.log.store import Store\n"
        "with Store.open() as store, store.session(sys.argv[1]) as made: print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, session], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        outcome = call("compact", session, "--digest", *WINDOW)
    assert outcome.code == 3
    assert "read-only" in outcome.err


# continue


@requirement("window", "others", "a new conversation can continue from a previous one (planned there)")
def test_a_new_session_goes_on_from_a_summary_of_another(call: Call, session: str) -> None:
    outcome = call("continue", session, "--json", "-m", "rehearsal")
    assert outcome.code == 0
    told = outcome.json
    assert (told["continued_from"], told["made_by"]) == (session, "rehearsal")
    first, *_, last = bodies(call, told["session"])
    assert first == Setting(CONTINUED_FROM, session)
    assert isinstance(last, Compaction)
    assert last.summary == told["summary"]
    items = call("plan", told["session"], "--json").json["items"]
    assert items[0]["text"] == PREFACE + recall_note(session) + told["summary"]
    assert call("sessions", "--query", "continued", "--json").json["sessions"][0]["title"] == "continued: eight bugs"


@requirement("window", "others", "the user controls what is carried over (planned there)")
def test_the_summary_can_be_edited_before_it_is_used(call: Call, session: str, tmp_path: Path) -> None:
    printed = call("continue", session, "--digest", "--dry-run")
    assert "Digest of" in printed.out
    assert len(call("sessions", "--json").json["sessions"]) == 1
    file = tmp_path / "edited.md"
    file.write_text("We fixed all eight. Only the port is open.\n")
    told = call("continue", session, "--summary", file, "--json").json
    assert (told["summary"], told["made_by"], told["audit"]) == (file.read_text(), "hand", None)
    last = bodies(call, told["session"])[-1]
    assert isinstance(last, Compaction)
    assert last.summary == "We fixed all eight. Only the port is open."
    shown = call("continue", session, "--summary", file)
    assert f"continued from {session}" in shown.err
    file.write_text(" ")
    assert call("continue", session, "--summary", file).code == 2


def test_only_stages_are_printed_as_progress(capsys: pytest.CaptureFixture[str]) -> None:
    compact.print_progress(CompactionProgress("summarising", 2, 3))
    compact.print_progress(CompactionProgress("summarising", 2, 3, 40))
    assert capsys.readouterr().err == "· summarising part 2 of 3\n"


def test_a_summary_of_the_user_s_own_is_taken_with_all_that_it_lost(call: Call, session: str, tmp_path: Path) -> None:
    own = tmp_path / "own.md"
    own.write_text("Eight bugs were fixed.\n")
    told = call("compact", session, "--json", "--summary", own, *WINDOW).json
    assert (told["summary"], told["made_by"]) == ("Eight bugs were fixed.", "hand")
    lost = told["audit"]["lost"]
    assert lost
    call("undo", session)
    told = call("compact", session, "--json", "--summary", own, "--add-lost", *WINDOW).json
    assert told["summary"].startswith("Eight bugs were fixed.")
    assert told["audit"]["lost"] == []
    assert all(fact["text"] in told["summary"] for fact in lost)


def test_a_summary_of_nothing_is_refused(call: Call, session: str, tmp_path: Path) -> None:
    own = tmp_path / "own.md"
    own.write_text(" \n")
    outcome = call("compact", session, "--summary", own, *WINDOW)
    assert (outcome.code, outcome.err.splitlines()[-1]) == (3, "workbench: the summary is empty")
