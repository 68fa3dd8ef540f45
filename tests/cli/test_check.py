"""`workbench check`: sessions and their limits, with the figures of `plan`, `waste` and `lab`."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from support.calls import Call
from support.port_sessions import MASKED, write_port_session
from support.recordings import readable_files
from support.rights import in_a_fork_without_rights
from support.talk import words
from workbench.cli.arguments import percent_argument
from workbench.cli.check import figures_shown
from workbench.lab.limits import LargestRequest, LimitCheck, LimitName, SessionLimits, check_limits
from workbench.lab.values import LabPoint, PolicyRun, SourceRun

EXAMPLES = Path(__file__).parents[2] / "examples" / "check"
ALL = ("--max-tokens", "1", "--max-share", "80%", "--max-waste", "10%", "--max-cost", "2", "--max-misses", "0")
TALK = json.dumps([{"role": "user", "content": "hello"}])


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return write_port_session(tmp_path / "talk.json")


def by_limit(source: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["limit"]: each for each in source["checks"]}


def test_a_session_within_its_limits_ends_with_0_and_one_over_a_limit_with_1(call: Call, talk: Path) -> None:
    assert call("check", talk, "--max-tokens", "100000", "--max-misses", "0").code == 0
    over = call("check", talk, "--max-tokens", "50", "--max-misses", "0")
    assert over.code == 1
    line, misses = over.out.splitlines()[1:3]
    assert line.split()[:4] == ["OVER", str(talk), "tokens", f"{by_size(call, talk):,}"]
    assert line.endswith("request 5 (event 9)")
    assert misses.split() == ["ok", str(talk), "misses", "0", "0"]
    assert over.out.splitlines()[-1] == "1 session, 2 figures; 1 over the limit"


def by_size(call: Call, source: Path) -> int:
    """The largest request, as `lab` has it."""
    found: int = call("lab", source, "--policy", "recorded", "--json").json["sources"][0]["policies"][0]["peak"]
    return found


def test_a_limit_is_the_last_figure_that_is_allowed(call: Call, talk: Path) -> None:
    size = by_size(call, talk)
    assert call("check", talk, "--max-tokens", str(size)).code == 0
    assert call("check", talk, "--max-tokens", str(size - 1)).code == 1


def test_the_figures_are_those_of_plan_lab_and_waste(call: Call, talk: Path) -> None:
    found = call("check", talk, *ALL, "--model", "gpt-4o", "--json")
    checks = by_limit(found.json["sources"][0])
    [run] = call("lab", talk, "--policy", "recorded", "--model", "gpt-4o", "--json").json["sources"][0]["policies"]
    waste = call("waste", talk, "--model", "gpt-4o", "--json").json
    plan = call("plan", talk, "--at", str(checks["tokens"]["event"]), "--json").json
    assert found.code == 1
    assert checks["tokens"]["figure"] == run["peak"] == plan["totals"]["tokens"]
    assert checks["share"]["figure"] == round(run["peak"] / run["window"], 6)
    assert checks["waste"]["figure"] == round(waste["carried"] / run["tokens"], 6) > 0
    assert checks["cost"]["figure"] == run["cost"] > 0
    assert checks["misses"]["figure"] == run["misses"] == 0


@pytest.mark.parametrize("name", ["cc_mid_107KB.jsonl", "codex_orphan_calls_185KB.jsonl"])
def test_the_figures_of_a_real_transcript_are_those_of_plan_and_lab(call: Call, name: str) -> None:
    file = next((each for each in readable_files() if each.name == name), None)
    if file is None:
        pytest.skip("the transcript is not here")
    checks = by_limit(call("check", file, *ALL, "--json").json["sources"][0])
    [run] = call("lab", file, "--policy", "recorded", "--json").json["sources"][0]["policies"]
    plan = call("plan", file, "--at", str(checks["tokens"]["event"]), "--json").json
    assert checks["tokens"]["figure"] == run["peak"]
    assert plan["reported"] in (run["peak"], None), "a request without a report is estimated"
    assert checks["cost"]["figure"] == run["cost"]
    assert checks["share"]["figure"] == round(run["peak"] / run["window"], 6)


def test_a_policy_is_checked_in_place_of_what_was_sent(call: Call, talk: Path) -> None:
    found = call("check", talk, "--max-misses", "0", "--max-waste", "90%", "--policy", "layers", *MASKED, "--json")
    checks = by_limit(found.json["sources"][0])
    assert found.code == 1
    assert found.json["sources"][0]["policy"] == "layers"
    assert (checks["misses"]["figure"], checks["misses"]["request"]) == (1, 5)
    assert "48213" in checks["misses"]["note"]
    waste = call("check", talk, "--max-waste", "90%", "--json").json["sources"][0]
    assert checks["waste"] == by_limit(waste)["waste"], "waste is that of what was sent"


def test_an_unknown_figure_is_named_and_fails_only_if_strict(call: Call, talk: Path) -> None:
    limits = ("--max-share", "80%", "--max-cost", "2")
    said = call("check", talk, *limits)
    assert said.code == 0
    share, cost = said.out.splitlines()[1:3]
    assert share.startswith("unknown")
    assert "--window N sets it" in share
    assert cost.startswith("unknown")
    assert "no price is known" in cost
    assert "2 not known (counted as ok; --strict counts such figures as over)" in said.out
    strict = call("check", talk, *limits, "--strict", "--json")
    assert (strict.code, strict.json["result"]) == (1, "unknown")
    assert call("check", talk, *limits, "--strict", "--window", "128000", "--model", "gpt-4o").code == 0


def test_a_prompt_that_was_not_sent_yet_is_checked_as_the_next_request(call: Call, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.json"
    prompt.write_text(json.dumps([{"role": "user", "content": words(300)}]))
    found = call("check", prompt, "--max-tokens", "200", "--max-cost", "1", "--json")
    checks = by_limit(found.json["sources"][0])
    assert found.code == 1
    assert checks["tokens"]["figure"] == call("plan", prompt, "--json").json["totals"]["tokens"] > 300
    assert checks["tokens"]["note"] == "the next request"
    assert (checks["cost"]["figure"], checks["cost"]["note"]) == (None, "it holds no request")


def test_a_source_that_cannot_be_read_ends_with_2_even_if_others_are_within_their_limits(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    alone = call("check", broken, "--max-tokens", "1000")
    assert (alone.code, alone.out) == (2, "")
    both = call("check", broken, talk, "--max-tokens", "100000", "--json")
    assert (both.code, both.json["result"]) == (2, "failed")
    assert [each["source"] for each in both.json["failed"]] == [str(broken)]
    assert "broken.json" in both.err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("words.jsonl", b"hello there"),
        ("end.jsonl", b'ly the end of a line"}'),
        ("utf16.json", TALK.encode("utf-16")),
        ("noise.traj", bytes(range(128, 256))),
    ],
)
def test_a_file_in_a_folder_with_a_transcripts_name_that_cannot_be_read_is_named_and_ends_with_2(
    call: Call, talk: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    said = call("check", tmp_path, "--max-tokens", "100000")
    assert said.code == 2
    assert f"left out: {tmp_path / name}: " in said.err
    assert said.out.splitlines()[-1] == "1 session, 1 figure; 0 over the limit; 1 source could not be read"


def test_the_end_of_a_transcript_in_a_folder_is_checked_as_the_same_file_is_alone(call: Call, tmp_path: Path) -> None:
    said = [("user", words(300)), ("assistant", "yes")] * 9
    lines = [
        {"type": role, "uuid": str(at), "sessionId": "s", "message": {"role": role, "content": text}}
        for at, (role, text) in enumerate(said)
    ]
    cut = "\n".join(['21 of a line before"}', *map(json.dumps, lines)])
    (tmp_path / "cut.jsonl").write_text(cut)
    alone = call("check", tmp_path / "cut.jsonl", "--max-tokens", "200", "--json")
    assert alone.code == 1
    assert call("check", tmp_path, "--max-tokens", "200", "--json").json == alone.json


def test_a_link_to_nothing_and_a_pipe_in_a_folder_are_named(call: Call, talk: Path, tmp_path: Path) -> None:
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = call("check", tmp_path, "--max-tokens", "100000", "--json")
    assert found.code == 2
    assert sorted(each["source"] for each in found.json["failed"]) == [
        str(tmp_path / name) for name in ("gone.jsonl", "pipe.jsonl")
    ]


def test_a_folder_that_cannot_be_listed_is_named_and_ends_with_2(call: Call, talk: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)

    def check() -> None:
        found = call("check", tmp_path, "--max-tokens", "100000", "--jobs", "1", "--json")
        assert found.code == 2
        why = f"{closed}: cannot be listed: Permission denied"
        assert found.json["failed"] == [{"source": str(closed), "error": why}]

    in_a_fork_without_rights(check)


def test_a_file_of_another_kind_in_a_folder_is_named_and_is_no_error(call: Call, talk: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    talk.rename(runs / "talk.json")
    (runs / "package.json").write_text('{"name": "mine"}')
    said = call("check", runs, "--max-tokens", "100000")
    assert said.code == 0
    assert f"1 file in the folders: no transcript ({runs / 'package.json'})" in said.err


def test_a_mistyped_model_is_told_in_one_line(call: Call, talk: Path) -> None:
    said = call("check", talk, "--max-cost", "2", "--model", "gpt-4oo")
    assert said.err.splitlines() == ["· --model gpt-4oo: no such model is known; did you mean gpt-4o or gpt-4?"]
    assert call("check", talk, "--max-cost", "2", "--model", "gpt-4o").err == ""


def test_what_a_cost_includes_is_said(call: Call, talk: Path) -> None:
    assert "`workbench usage` counts" in call("check", talk, "--max-cost", "2", "--model", "gpt-4o").out
    assert "usage" not in call("check", talk, "--max-tokens", "2").out


@given(st.sampled_from(["share", "waste", "cost"]), st.floats(0.001, 3), st.floats(0.001, 3))
@example("cost", 2.004, 2.0)
@example("share", 0.80001, 0.8)
def test_a_figure_and_its_limit_look_the_same_only_if_they_are(limit: LimitName, figure: float, most: float) -> None:
    assume(figure == most or abs(figure - most) > 1e-9)
    shown = figures_shown(LimitCheck(limit, figure, most, None, None, ""))
    assert (shown[0] == shown[1]) == (figure == most)


def test_a_figure_has_no_more_digits_than_it_needs() -> None:
    assert figures_shown(LimitCheck("cost", 2.004, 2.0, None, None, "")) == ("$2.004", "$2.000")
    assert figures_shown(LimitCheck("cost", 3.0041, 2.0, None, None, "")) == ("$3.00", "$2.00")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "expected at least one limit"),
        (("--max-share", "0.8"), "as in 80%"),
        (("--max-share", "much"), "as in 80%"),
        (("--max-share", "80%x"), "as in 80%"),
        (("--max-cost", "-1"), "dollars"),
        (("--max-cost", "nan"), "dollars"),
        (("--max-tokens", "10k"), "whole number"),
        (("--max-misses", "-1"), "expected a whole number from 0 up, got '-1'"),
        (("--max-misses", "0", "--window", "x"), "argument --window: expected a whole number, got 'x'"),
    ],
)
def test_a_wrong_limit_is_refused_with_the_form_that_is_expected(
    call: Call, talk: Path, arguments: tuple[str, ...], expected: str
) -> None:
    said = call("check", talk, *arguments)
    assert said.code == 2
    assert expected in said.err


@given(st.decimals(min_value=1, max_value=1000, places=2))
def test_a_share_may_be_written_with_its_sign_or_without(share: object) -> None:
    assert percent_argument(f"{share}%") == percent_argument(f"{share}") == float(str(share)) / 100


def test_text_of_a_transcript_cannot_act_on_the_terminal(call: Call, tmp_path: Path) -> None:
    hostile = tmp_path / "\x1b[31mred.json"
    hostile.write_text(json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]))
    said = call("check", hostile, "--max-tokens", "5")
    assert "\x1b" not in said.out + said.err


@given(
    st.lists(st.integers(0, 10_000), min_size=1, max_size=6),
    st.integers(0, 10_000),
    st.integers(1, 20_000),
    st.floats(0, 2),
)
def test_the_largest_request_alone_decides_about_sizes(sizes: list[int], most: int, window: int, share: float) -> None:
    points = tuple(LabPoint(at, at, size, True, 0, 0, 0) for at, size in enumerate(sizes, 1))
    run = PolicyRun("recorded", window, points, (), (), 0, 0, 0, None, 0)
    largest = LargestRequest(max(sizes), window)
    tokens, part = check_limits(SourceRun("s", "", len(sizes), [run]), SessionLimits(most, share), largest)
    assert (tokens.result == "over") == any(size > most for size in sizes)
    assert (part.result == "over") == any(size / window > share for size in sizes)


@pytest.mark.parametrize("name", ["github-action.yml", "pre-commit-config.yaml"])
def test_the_command_in_each_example_is_one_that_the_program_takes(
    call: Call, talk: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(talk.parent)
    (talk.parent / "transcripts").mkdir()
    talk.rename(talk.parent / "transcripts" / "talk.json")
    found = re.search(r"uvx --from context-workbench workbench (.*(?:\n +--.*)?)", (EXAMPLES / name).read_text("utf-8"))
    assert found is not None
    given = shlex.split(found[1])
    said = call(*given, *(["transcripts/talk.json"] if "transcripts/" not in given else []))
    assert (said.code, said.err) == (1, ""), said.out
    assert [line.split()[2] for line in said.out.splitlines() if line.startswith("OVER")] == ["waste"]
