"""`workbench import`, `export` and `sessions`."""

from __future__ import annotations

import json
import re
import resource
import sqlite3
import sys
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import Phase, find, settings

from proxy.secrets import KINDS
from support.calls import Call
from support.requirements import requirement
from workbench.cli.own_commands import OVERRIDES
from workbench.config.paths import data_dir
from workbench.log.codec import encode_event
from workbench.log.events import OverrideAction, Setting, SlotContent, UserMessage
from workbench.log.store import FILE_NAME, Store
from workbench.proxy.redaction import MASK
from workbench.session.reports import write_export
from workbench.sources.services import Services
from workbench.sources.source import number_events


def imported(call: Call, transcript: Path, *more: str) -> str:
    [session] = call("import", transcript, "--json", *more).json["sessions"]
    return str(session["id"])


def test_import_says_what_it_made(call: Call, transcript: Path) -> None:
    [session] = call("import", transcript, "--json").json["sessions"]
    assert session["title"] == "session.json"
    assert session["events"] == 11  # nine of the conversation, and the title
    assert call("import", transcript).out.endswith("11 events  session.json\n")


ACTING = "\x9b31m \u202e\u2066 \x7f \u2028 \x1b]52;c;eA==\x07 \U000e0041"


def test_json_never_acts_on_the_terminal_and_means_the_same(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": ACTING}, {"role": "assistant", "content": ACTING}]))
    session = imported(call, path, "--title", f"t{ACTING}")
    said = [
        call("import", path, "--title", ACTING, "--json"),
        call("sessions", "--json"),
        call("sessions", "search", "eA", "--json"),
        call("plan", session, "--json", "--full"),
        call("plan", path, "--request"),
        call("export", session),
        call("export", session, "--format", "openai"),
        call("compactions", session, "--json"),
        call("ask", ACTING, "--json"),
        call("ask", ACTING, "--stream"),
    ]
    for outcome in said:
        assert outcome.code == 0
        acting = {char for char in outcome.out if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")}
        assert acting <= {"\n"}
    assert said[6].json["messages"][0]["content"] == ACTING


def test_a_log_from_elsewhere_reads_no_file_and_says_so(call: Call, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("PRIVATE KEY")
    reaching = f"compaction.prompt=file:{tmp_path}/secret"
    events = number_events([UserMessage("hello"), Setting("knobs", [reaching, "masking.keep_last=3"])])
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{encode_event(event)}\n" for event in events))
    made = call("import", path, "--json")
    assert f"not taken over from the file, because it reaches beyond it or cannot be set: {reaching}" in made.err
    [session] = made.json["sessions"]
    for source in (session["id"], path):
        told = call("compact", source, "--dry-run")
        assert "PRIVATE KEY" not in told.out + told.err
        assert call("plan", source, "--json").code == 0
    assert reaching in call("plan", path).err
    assert "file:" not in call("export", session["id"]).out.replace(f"cannot be set: {reaching}", "")


def test_a_session_plans_like_its_file(call: Call, transcript: Path) -> None:
    session = imported(call, transcript)
    ours, files = (call("plan", source, "--json").json for source in (session, transcript))
    texts = [[(item["kind"], item["text"], item["tokens"]) for item in found["items"]] for found in (ours, files)]
    assert texts[0] == texts[1]
    assert ours["totals"] == files["totals"]


@requirement("layers", "log", "events can be had as lines of JSON")
def test_an_exported_log_comes_back_byte_for_byte(call: Call, transcript: Path, tmp_path: Path) -> None:
    session = imported(call, transcript)
    first = call("export", session, "--format", "events").out
    path = tmp_path / "events.jsonl"
    path.write_text(first, encoding="utf-8")
    again = imported(call, path)
    assert again != session
    assert call("export", again).out == first
    assert call("plan", path, "--json").json["items"] == call("plan", again, "--json").json["items"]


def test_export_writes_a_file_whole(call: Call, transcript: Path, tmp_path: Path) -> None:
    session = imported(call, transcript)
    target = tmp_path / "out.json"
    assert call("export", session, "--format", "openai", "-o", target).code == 0
    assert json.loads(target.read_text())["messages"] == json.loads(transcript.read_text())
    assert call("export", session, "-o", tmp_path / "no" / "where").code == 2
    assert [path.name for path in tmp_path.glob(".*.part")] == []


def test_a_bad_import_leaves_nothing_behind(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    good = json.dumps({"messages": [{"role": "user", "content": "a"}]})
    path.write_text(good + "\n" + json.dumps({"messages": [{"role": "king"}]}))
    assert call("import", path).code == 2
    assert call("sessions", "--json").json == {"schema": 1, "sessions": []}


def test_sessions_of_this_folder_alone_are_listed(
    call: Call, transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("import", transcript)
    for name in ("bakery", "shop"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "HEAD").write_text("ref: refs/heads/main")
        monkeypatch.chdir(tmp_path / name)
        assert call("ask", f"say {name}", "--model", "rehearsal").code == 0
    [found] = call("sessions", "--here", "--json").json["sessions"]
    assert (found["title"], found["folder"], found["branch"]) == ("say shop", str(tmp_path / "shop"), "main")
    everything = call("sessions", "--json").json["sessions"]
    assert [each["folder"] for each in everything] == [str(tmp_path / "shop"), str(tmp_path / "bakery"), None]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "~/shop (main)" in call("sessions").out
    monkeypatch.chdir(tmp_path)
    assert "no session belongs to ~; without --here" in call("sessions", "--here").out


def test_several_conversations_become_several_sessions(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(json.dumps({"messages": [{"role": "user", "content": word}]}) for word in "ab"))
    sessions = call("import", path, "--json").json["sessions"]
    assert [session["title"] for session in sessions] == ["two.jsonl#1", "two.jsonl#2"]
    [chosen] = call("import", f"{path}#2", "--json").json["sessions"]
    assert chosen["title"] == "two.jsonl#2"
    assert call("plan", path).err.endswith(f'choose one, as in {path}#1; the last are 2 "b", 1 "a"\n')


def conversations(path: Path, number: int) -> Path:
    """A file of so many conversations."""
    path.write_text("".join(f'{{"messages": [{{"role": "user", "content": "{at}"}}]}}\n' for at in range(number)))
    return path


def test_an_import_of_many_conversations_keeps_few_files_open(call: Call, tmp_path: Path) -> None:
    path, (soft, hard) = conversations(tmp_path / "many.jsonl", 80), resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(path) as file:
        resource.setrlimit(resource.RLIMIT_NOFILE, (file.fileno() + 60, hard))
    try:
        made = call("import", path, "--json")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(made.json["sessions"]) == 80
    with Services() as services:
        assert not any(services.store.session(each["id"]).why_read_only for each in made.json["sessions"][:3])


def test_an_import_that_fails_halfway_leaves_nothing_behind(call: Call, tmp_path: Path) -> None:
    path = conversations(tmp_path / "three.jsonl", 3)
    with Store.open():
        pass
    with closing(sqlite3.connect(data_dir() / FILE_NAME)) as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON sessions WHEN (SELECT count(*) FROM sessions) = 2 "
            "BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    assert call("import", path).code != 0
    assert call("sessions", "--json").json["sessions"] == []


def test_sessions_are_listed_renamed_forked_searched_and_deleted(call: Call, transcript: Path) -> None:
    assert "no sessions yet" in call("sessions").out
    session = imported(call, transcript, "--title", "login", "--model", "gpt-4o")
    assert call("sessions", "rename", "login", "the login test").code == 0
    [listed] = call("sessions", "--json").json["sessions"]
    assert (listed["title"], listed["model"], listed["forked_from"]) == ("the login test", "gpt-4o", None)
    assert "the login test" in call("sessions").out
    copy = call("sessions", "fork", session, "--at", "5").out.split()[0]
    found = {entry["id"]: entry for entry in call("sessions", "--json").json["sessions"]}
    assert found[copy]["forked_from"] == {"session": session, "seq": 5}
    hits = call("sessions", "search", "fixture", "--json").json["hits"]
    assert [hit["session_id"] for hit in hits] == [session]
    assert "fixture" in call("sessions", "search", "fixture").out
    assert call("sessions", "search", "zebra").out == "nothing found\n"
    refused = call("sessions", "delete", copy)
    assert refused.code == 3
    assert "--yes" in refused.err
    assert call("sessions", "delete", copy, "--yes").code == 0
    assert call("plan", copy).code == 2
    assert len(call("sessions", "--json").json["sessions"]) == 1


@requirement(
    "codex",
    "log",
    "old sessions are trimmed now and then",
    decided="nothing is deleted unasked; `sessions delete` does it",
)
def test_deleting_asks_a_person(call: Call, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = imported(call, transcript)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    for answer, code in (("", 3), ("n", 3), ("y", 0)):
        monkeypatch.setattr("builtins.input", lambda said=answer: said)
        assert call("sessions", "delete", session).code == code
    assert call("sessions", "delete", session).code == 2


def test_the_sessions_own_model_is_used(call: Call, transcript: Path) -> None:
    session = imported(call, transcript, "--model", "gpt-4o")
    found = call("plan", session, "--json").json
    assert (found["model"], found["window_source"]) == ("gpt-4o", "catalogue")
    assert call("plan", session, "--json", "--model", "o3").json["model"] == "o3"


def test_overrides_are_events_of_the_session(call: Call, transcript: Path) -> None:
    session = imported(call, transcript)
    assert call("override", session, "exclude", "7").out == "event 12: exclude 7\n"
    assert call("override", session, "pin", "2-3").code == 0
    items = {item["seq"]: item for item in call("plan", session, "--json").json["items"]}
    assert (items[7]["state"], items[5]["state"]) == ("excluded", "excluded"), "a result leaves with its call"
    assert items[7]["edits"][0]["why"] == "excluded by hand"
    assert [seq for seq, item in items.items() if item["pinned"]] == [2, 3]
    assert call("override", session, "include", "5-7").code == 0
    assert call("plan", session, "--json").json["items"][5]["state"] == "sent"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["pin", "0"], "0: expected a seq or a range of them from 1 to 11"),
        (["pin", "9" * 5_000], "9: expected a seq or a range of them from 1 to 11"),
        (["pin", "3-99"], "3-99: expected a seq or a range of them from 1 to 11"),
        (["pin", "x"], "x: expected the number of an event, or two as in 12-20"),
        (["hide", "3"], "hide"),
    ],
)
def test_a_wrong_override_changes_nothing(call: Call, transcript: Path, arguments: list[str], complaint: str) -> None:
    session = imported(call, transcript)
    outcome = call("override", session, *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert call("sessions", "--json").json["sessions"][0]["events"] == 11


def test_export_does_not_replace_what_is_no_plain_file(call: Call, transcript: Path, tmp_path: Path) -> None:
    session = imported(call, transcript)
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.write_text('{"v":1,"seq":1}')  # an export from before
    link.symlink_to(target)
    assert call("export", session, "-o", link).code == 0
    assert link.is_symlink()
    assert target.read_text().startswith('{"v":1,')
    for bad in ("", tmp_path, target / "x"):
        outcome = call("export", session, "-o", bad)
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("tmp")) == []


@pytest.mark.parametrize("form", ["events", "openai"])
def test_export_overwrites_only_an_export_of_the_same_form(
    call: Call, transcript: Path, tmp_path: Path, form: str
) -> None:
    session, target = imported(call, transcript), tmp_path / "out"
    export = ("export", session, "--format", form, "-o", target)
    assert call(*export).code == 0
    assert call(*export).code == 0
    target.write_text("mine")
    said = call(*export)
    assert (said.code, target.read_text()) == (3, "mine")
    assert said.err.endswith(f"-o {target}: something else is in this file; it stays as it is\n")


def test_export_of_a_file_without_a_form_says_which_forms_there_are(call: Call, transcript: Path) -> None:
    said = call("export", transcript)
    assert said.code == 2
    assert all(form in said.err for form in ("is a file, not a session", "--html FILE", "--otlp URL|FILE", "import"))


def test_a_log_that_another_program_has_spaced_and_sorted_comes_back_as_it_was(
    call: Call, transcript: Path, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    events = call("export", imported(call, transcript)).out
    path.write_text("\n".join(json.dumps(json.loads(line), sort_keys=True) for line in events.splitlines()))
    assert call("export", imported(call, path)).out == events
    assert call("plan", path).code == 0


def test_an_exported_log_keeps_its_title(call: Call, transcript: Path, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    call("export", imported(call, transcript), "-o", path)
    outcome = call("import", path, "--title", "other")
    assert outcome.code == 2
    assert "keeps its own title" in outcome.err


def test_limits_are_checked(call: Call) -> None:
    for limit in ("0", "-1", "many"):
        outcome = call("sessions", "--limit", limit)
        assert (outcome.code, "expected a whole number from 1 up, got " in outcome.err) == (2, True)
    outcome = call("sessions", "--limit", "9" * 30)
    assert (outcome.code, "expected at most 2,147,483,647, got " in outcome.err) == (2, True)
    assert call("sessions", "--limit", f"{0:030}1").code == 0


def test_a_title_that_no_session_has_is_no_empty_store(call: Call, transcript: Path) -> None:
    imported(call, transcript)
    assert call("sessions", "--query", "unheard of").out == "no session has 'unheard of' in its title\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
def test_a_disk_that_is_full_is_a_failure_and_no_wrong_call(call: Call, transcript: Path) -> None:
    outcome = call("export", imported(call, transcript), "-o", "/dev/full")
    assert (outcome.code, "/dev/full: cannot be written: No space left on device" in outcome.err) == (1, True)


def test_an_override_takes_every_action_that_there_is() -> None:
    assert get_args(OverrideAction) == OVERRIDES


TOOL = '{"type": "function", "function": {"name": "f", "description": "half \\ud800 a pair"}}'


@pytest.mark.parametrize("output", ["-", "exported.json"])
def test_half_a_surrogate_pair_in_a_tools_description_is_exported(call: Call, tmp_path: Path, output: str) -> None:
    written = tmp_path / output
    with Services() as services:
        session = services.store.create_from(number_events([SlotContent("tools", "f", TOOL), UserMessage("go")]))
    made = call("export", session.id, "--format", "openai", "--output", output if output == "-" else written)
    text = made.out if output == "-" else written.read_text(encoding="utf-8")
    assert json.loads(text)["tools"] == [json.loads(TOOL)]


@pytest.mark.parametrize("name", ["talk.json", "talk.jsonl"])
def test_half_a_surrogate_pair_in_a_log_is_exported(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    assert write_export(number_events([UserMessage("half \ud800 a pair")]), file) == file.stat().st_size
    assert "half" in json.dumps(json.loads(file.read_text(encoding="utf-8")))


def planted_talk(text: str, call_id: str) -> list[dict[str, Any]]:
    """A turn with a text in every place."""
    arguments = json.dumps({"command": text})
    called = {"id": call_id, "type": "function", "function": {"name": "run", "arguments": arguments}}
    return [
        {"role": "user", "content": f"please\n{text}\nnow"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
        {"role": "assistant", "content": f"done: {text}"},
    ]


def test_a_planted_secret_survives_in_no_export_that_masks_secrets(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    first = settings(database=None, phases=[Phase.generate])  # nothing is made smaller, which takes seconds
    planted = {kind: find(pairs, lambda _: True, settings=first) for kind, pairs in sorted(KINDS.items())}
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([each for kind, (text, _) in planted.items() for each in planted_talk(text, kind)]))
    session = imported(call, file)
    forms = [("--html", "-"), ("--otlp", "-"), ("--format", "events"), ("--format", "openai")]
    for form in forms:
        whole, made = call("export", session, *form), call("export", session, *form, "--redact")
        assert made.code == 0
        [masked] = re.findall(r"^· ([\d,]+) secrets masked\n$", made.err)
        assert int(masked.replace(",", "")) >= len(planted), form
        for kind, (_, secret) in planted.items():
            for written in (secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3]):
                assert written not in made.out, (form, kind)
        assert MASK in made.out
        assert MASK not in whole.out
