"""`workbench lab`, as it is called."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.port_sessions import MASKED, write_port_session
from support.talk import words
from workbench.cli.main import main
from workbench.cli.summaries import _failed
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.running.workers import run_all
from workbench.lab.values import LabCompaction, PolicyRun, SourceRun


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return write_port_session(tmp_path / "talk.json")


def copy_of(path: Path) -> Path:
    """The same under another name."""
    copy = path.with_name("copy.json")
    copy.write_bytes(path.read_bytes())
    return copy


def test_a_table_has_a_row_per_policy(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(transcript)]) == 0
    shown = capsys.readouterr().out
    rows = [line.split()[0] for line in shown.splitlines()[3:10]]
    assert rows == ["recorded", "workbench", "codex", "layers", "sliding", "window", "confirm"]
    assert "5 requests" in shown


def test_a_list_of_files_may_have_names_that_are_no_utf_8(
    transcript: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = os.fsencode(transcript.parent) + b"/caf\xe9.json"
    os.link(transcript, odd)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(odd + b"\n"), encoding="utf-8", errors="strict"))
    assert main(["lab", "-", "--policy", "layers", "--json"]) == 0
    [source] = json.loads(capsys.readouterr().out)["sources"]
    assert source["requests"] == 5


@pytest.mark.parametrize(
    ("made", "failed"),
    [
        ([], False),
        ([("digest", "model: it is gone")], True),
        ([("digest", "model: it is gone"), ("m", "")], False),
        ([("digest", "")], False),
    ],
)
def test_a_model_failed_where_it_wrote_none_of_the_summaries(made: list[tuple[str, str]], failed: bool) -> None:
    compactions = tuple(LabCompaction(1, 9, 3, 0, None, *each) for each in made)
    run = PolicyRun("window", 9, (), compactions, (), 0, 0, 0, None, 0)
    assert _failed(TaskOutcome(LabTask("talk.json", ()), (SourceRun("talk.json", "m", 1, [run]),))) is failed


def test_json_has_the_figures_the_misses_and_the_sums(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "lab",
        str(transcript),
        str(copy_of(transcript)),
        "--policy",
        "recorded",
        "--policy",
        "layers",
        *MASKED,
        "--json",
    ]
    assert main(call) == 0
    told = json.loads(capsys.readouterr().out)
    first = told["sources"][0]
    assert first["requests"] == 5
    whole, masked = first["policies"]
    assert (whole["policy"], masked["policy"]) == ("recorded", "layers")
    assert (whole["misses"], masked["misses"]) == (0, 1)
    assert masked["missed"][0]["fact"] == "48213"
    assert masked["tokens"] < whole["tokens"]
    assert len(masked["points"]) == 5
    assert [row["misses"] for row in told["policies"]] == [0, 2]
    assert told["policies"][1]["tokens"] == 2 * masked["tokens"]
    assert told["failed"] == []


@pytest.mark.parametrize("how", [["--json"], ["--csv", "-"]])
def test_each_session_is_written_before_the_next_one_comes(
    transcript: Path, how: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of sessions would not fit into memory."""
    written: list[str] = []

    def watched(*tasks: Any, **options: Any) -> Iterator[TaskOutcome]:
        for outcome in run_all(*tasks, **options):
            yield outcome
            sys.stdout.flush()
            written.append(capfd.readouterr().out)

    monkeypatch.setattr("workbench.cli.lab.run_all", watched)
    sources = [str(transcript), str(copy_of(transcript))]
    assert main(["lab", *sources, "--policy", "recorded", "--jobs", "1", *how]) == 0
    for source, text in zip(sources, written, strict=True):
        assert [each for each in sources if each in text] == [source]


def test_waste_is_told_below_the_table_and_in_json(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(transcript)]) == 0
    below = capsys.readouterr().out.splitlines()[10:13]
    assert below == [
        "",
        "waste: 2 items, 122 tokens, carried as 183 tokens: 2 repeated",
        "       most by read 183",
    ]
    assert (
        main(["lab", str(transcript), str(copy_of(transcript)), "--policy", "layers", "--model", "gpt-4o", "--json"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    waste = told["sources"][0]["waste"]
    assert [(each["kind"], each["items"]) for each in waste["kinds"]] == [("repeated", 2)]
    assert [(each["tool"], each["carried"]) for each in waste["tools"]] == [("read", waste["carried"])]
    assert [item["event"] for item in waste["items"]] == [5, 7]
    assert waste["cost"] == pytest.approx(waste["carried"] * 2.5e-6, abs=1e-6)
    assert told["waste"]["carried"] == 2 * waste["carried"]


def test_waste_has_a_command_of_its_own(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["waste", str(transcript)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in shown[3:5]] == [["repeated", "#5"], ["repeated", "#7"]]
    assert shown[-2].startswith("waste: 2 items")
    assert main(["waste", str(transcript), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["requests"], told["tokens"], told["carried"]) == (5, 122, 183)
    assert told["items"][0]["by"] == 7


def test_a_session_without_waste_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "talk.json"
    path.write_text(
        json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})
    )
    assert main(["waste", str(path)]) == 0
    assert "no waste found" in capsys.readouterr().out
    assert main(["lab", str(path)]) == 0
    assert "waste: " not in capsys.readouterr().out


def test_csv_has_a_line_per_source_and_policy(transcript: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    assert main(["lab", str(transcript), "--policy", "codex", "--policy", "window", "--csv", str(path)]) == 0
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["policy"], row["requests"]) for row in rows] == [("codex", "5"), ("window", "5")]


def test_a_broken_file_is_named_and_does_not_stop_the_rest(
    transcript: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    assert main(["lab", str(broken), str(transcript), "--policy", "codex", "--json"]) == 0
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert [each["source"] for each in told["sources"]] == [str(transcript)]
    assert told["failed"][0]["source"] == str(broken)
    assert "broken.json" in said.err


def test_one_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
    assert main(["lab", str(tmp_path / "none.json"), "--policy", "nonsense"]) == 2


@pytest.mark.parametrize("wrong", [("--policy", "nonsense"), ("--set", "masking.keep=1"), ("--window", "0")])
def test_what_is_wrong_with_the_call_is_told_once(
    transcript: Path, wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", str(transcript), str(copy_of(transcript)), *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_page_and_a_table_for_programs_are_files(
    transcript: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", str(transcript), "--html", str(tmp_path / "lab.html")]) == 0
    assert (tmp_path / "lab.html").read_text("utf-8").startswith("<!doctype html>")
    assert main(["lab", str(transcript), "--parquet", str(tmp_path / "lab.parquet")]) == 0
    assert (tmp_path / "lab.parquet").read_bytes().startswith(b"PAR1")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("kind", ["csv", "html", "parquet"])
def test_results_are_written_over_such_results_alone(
    transcript: Path, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lab --csv *.json` makes the first transcript the file to write to."""
    was = transcript.read_bytes()
    copy = copy_of(transcript)
    for sources in ([transcript], [copy]):
        assert main(["lab", *map(str, sources), f"--{kind}", str(transcript)]) == 3
        assert "something else is in this file" in capsys.readouterr().err
    assert transcript.read_bytes() == was
    made = tmp_path / "made"
    made.touch()
    for policy in ("codex", "window"):
        assert main(["lab", str(transcript), "--policy", policy, f"--{kind}", str(made)]) == 0
        assert policy.encode() in made.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "html", "parquet"])
@pytest.mark.parametrize(
    ("name", "said"), [("", "expected a file"), (".", "this is a folder"), ("no/lab.out", "there is no folder no")]
)
def test_what_cannot_be_written_is_told_before_the_work(
    kind: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "none.json", f"--{kind}", name]) == 2
    assert said in capsys.readouterr().err


def test_a_page_and_a_table_go_to_standard_output(transcript: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for kind, begins in (("csv", b"source,"), ("html", b"<!doctype html>"), ("parquet", b"PAR1")):
        assert main(["lab", str(transcript), f"--{kind}", "-"]) == 0
        assert capfdbinary.readouterr().out.startswith(begins)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_name_that_is_no_text_or_acts_on_a_terminal_is_shown_all_the_same(
    transcript: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff\x1b[31m\n.json")
    odd.write_bytes(transcript.read_bytes())
    for kind in ("csv", "html", "parquet"):
        assert main(["lab", str(odd), "--policy", "codex", f"--{kind}", str(tmp_path / kind)]) == 0
        assert b"odd" in (tmp_path / kind).read_bytes()
    capsys.readouterr()
    assert main(["lab", str(odd), "--policy", "codex"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.splitlines()[0].endswith(".json: 5 requests")


# Summaries by the model


@pytest.fixture
def long_talk(tmp_path: Path) -> Path:
    """Thirty turns: too many for a small window."""
    lines: list[dict[str, str]] = []
    for at in range(30):
        lines += [
            {"role": "user", "content": f"turn {at}: {words(100)}"},
            {"role": "assistant", "content": f"done src/part{at}.py {words(100)}"},
        ]
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"messages": lines}))
    return path


SMALL = ("--policy", "recorded", "--policy", "window", "--window", "6000", "--jobs", "1")


def test_the_model_is_asked_for_the_summaries(long_talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["lab", str(long_talk), *SMALL, "--model", "rehearsal"]
    assert main([*call, "--json"]) == 0
    digest = json.loads(capsys.readouterr().out)["sources"][0]["policies"][1]["compacted"]
    assert {each["made_by"] for each in digest} == {"digest"}
    assert main([*call, "--summarise", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["sources"][0]["policies"][1]
    assert {each["made_by"] for each in told["compacted"]} == {"rehearsal"}
    assert {each["problem"] for each in told["compacted"]} == {""}
    assert told["peak"] <= 6000
    assert main([*call, "--summarise"]) == 0
    below = capsys.readouterr().out.splitlines()[-1]
    assert below == f"summaries: {len(told['compacted'])} by rehearsal"


def test_what_it_may_cost_is_asked_first(long_talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(long_talk), *SMALL, "--model", "gpt-4o", "--summarise"]) == 3
    said = capsys.readouterr()
    assert " by gpt-4o may cost about $" in said.err
    assert "Say --yes where nobody can be asked" in said.err
    assert said.out == ""


def test_what_the_policys_own_summariser_may_cost_is_asked_too(
    long_talk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ("--model", "rehearsal", "--set", "compaction.model=gpt-4o")
    assert main(["lab", str(long_talk), *SMALL, *other, "--summarise"]) == 3
    assert " by gpt-4o may cost about $" in capsys.readouterr().err


def test_a_model_that_fails_has_the_digest_write_and_it_says_so(
    long_talk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["lab", str(long_talk), *SMALL, "--model", "gpt-4o", "--summarise", "--yes"]) == 0
    shown = capsys.readouterr().out.splitlines()
    at = next(at for at, line in enumerate(shown) if line.startswith("summaries: "))
    assert shown[at].endswith(" by the digest")
    assert "OPENAI_API_KEY" in shown[at + 1]


def test_where_nothing_is_compacted_nobody_is_asked(transcript: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(transcript), "--model", "gpt-4o", "--summarise"]) == 0
    said = capsys.readouterr()
    assert "nothing to summarise" in said.err
    assert "summaries: " not in said.out


def test_a_window_that_nobody_knows_is_told_and_can_be_set(
    transcript: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["lab", str(transcript), "--policy", "codex", "--model", "mystery-1"]
    assert main(call) == 0
    assert "is a guess for this session's model; --window N sets it" in capsys.readouterr().out
    assert main([*call, "--window", "9000"]) == 0
    assert "guess" not in capsys.readouterr().out


def test_each_policy_is_there_once_and_files_of_one_name_are_told_apart(
    transcript: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / folder / "mine.toml" for folder in ("a", "b")]
    for keep, file in enumerate(files):
        file.parent.mkdir()
        file.write_text(f'extends = "layers"\n[masking]\nkeep_last = {keep}\n')
    refs = ["codex", *map(str, files), "codex"]
    assert main(["lab", str(transcript), *(word for ref in refs for word in ("--policy", ref)), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in told["policies"]] == refs[:3]
