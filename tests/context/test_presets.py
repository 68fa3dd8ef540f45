"""Each preset has the values of the system it reproduces, and leaves alone what that system leaves alone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import workbench
from support.requirements import requirement
from workbench.context.knobs import KNOBS, flatten_table
from workbench.context.load import load_policy, preset_names
from workbench.context.policy import CompactionPolicy, Policy
from workbench.context.policy_names import RECORDED

FOLDER = Path(workbench.__file__).parent / "policies"
MARKERS = (".git", ".hg", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")

# All that a preset says, but for the words put before a summary.
DOCUMENTED: dict[str, dict[str, Any]] = {
    "codex": {
        "budget.reserve_ratio": 0.10,
        "instructions.max_bytes": 32 * 1024,
        "instructions.root_markers": MARKERS,
        "truncation.strategy": "lines",
        "truncation.max_lines": 256,
        "truncation.head_lines": 128,
        "truncation.tail_lines": 128,
        "truncation.max_bytes": 10 * 1024,
        "truncation.count_header": True,
        "history.mode": "whole",
        "compaction.mode": "auto",
        "compaction.threshold": 0.70,
        "compaction.inclusive": False,
        "compaction.measure": "plan",
        "compaction.selection": "user_messages",
        "compaction.keep_user_tokens": 20_000,
        "compaction.keep_user_ratio": 0.25,
        "compaction.place": "end",
        "compaction.prompt": "codex",
    },
    "layers": {
        "budget.max_input_tokens": 0,
        "budget.reserve_tokens": 0,
        "budget.margin_ratio": 0.10,
        "truncation.strategy": "head",
        "truncation.max_tokens": 8_000,
        "masking.keep_first": 2,
        "masking.keep_last": 5,
        "masking.scope": "turn",
        "history.mode": "fit",
        "history.max_tokens": 20_000,
        "history.resident_auto": True,
        "history.turn_first": False,
        "history.notice": True,
        "turn.drop_groups": True,
        "turn.max_iterations": 25,
        "compaction.mode": "off",
        "compaction.prompt": "workbench",
    },
    "sliding": {
        "history.mode": "whole",
        "compaction.mode": "auto",
        "compaction.turns": 5,
        "compaction.overlap": 2,
        "compaction.threshold": 0.7,
        "compaction.inclusive": False,
        "compaction.measure": "since_compaction",
        "compaction.token_threshold": 700_000,
        "compaction.selection": "sliding",
        "compaction.summary_tokens": 500,
        "compaction.max_compactions": 5,
        "compaction.update": False,
        "compaction.prompt": "sliding",
    },
    "window": {
        "budget.max_input_tokens": 0,
        "budget.reserve_tokens": 4_000,
        "budget.reserve_ratio": 0.25,
        "budget.system_tokens": 500,
        "budget.memory_tokens": 500,
        "budget.guidance_ratio": 0.0625,
        "history.mode": "whole",
        "compaction.mode": "auto",
        "compaction.threshold": 0.8,
        "compaction.inclusive": False,
        "compaction.measure": "plan",
        "compaction.selection": "last_messages",
        "compaction.keep_messages": 10,
        "compaction.prompt": "window",
    },
    "confirm": {
        "history.mode": "whole",
        "compaction.mode": "confirm",
        "compaction.threshold": 0.9,
        "compaction.inclusive": True,
        "compaction.measure": "reported",
        "compaction.selection": "everything",
        "compaction.prompt": "confirm",
        "compaction.acknowledgement": "Understood, I have the context from our previous conversation. "
        "How can I continue helping you?",
    },
    "workbench": {
        "truncation.strategy": "both",
        "truncation.max_tokens": 8_000,
        "truncation.max_ratio": 0.10,
        "masking.keep_first": 2,
        "masking.keep_last": 5,
        "masking.scope": "session",
        "masking.batch_tokens": 20_000,
        "masking.batch_ratio": 0.10,
        "masking.min_tokens": 50,
        "history.mode": "fit",
        "history.max_tokens": 0,
        "history.turn_first": True,
        "history.notice": True,
        "turn.drop_groups": True,
        "turn.max_iterations": 25,
        "compaction.mode": "confirm",
        "compaction.headless_mode": "auto",
        "compaction.threshold": 0.8,
        "compaction.inclusive": True,
        "compaction.measure": "plan",
        "compaction.selection": "turns",
        "compaction.keep_turns": 2,
        "compaction.keep_user_tokens": 20_000,
        "compaction.keep_user_ratio": 0.15,
        "compaction.summary_tokens": 2_000,
        "compaction.summary_ratio": 0.05,
        "compaction.update": True,
        "compaction.prompt": "workbench",
    },
}

# What the systems leave out, so that nobody's sessions change by it.
SILENT = {
    "truncation.strategy": ("none", {"sliding", "window", "confirm"}),
    "masking.keep_first": (0, {"codex", "sliding", "window", "confirm"}),
    "masking.keep_last": (0, {"codex", "sliding", "window", "confirm"}),
    "history.mode": ("whole", {"codex", "sliding", "window", "confirm"}),
    "turn.drop_groups": (False, {"codex", "sliding", "window", "confirm"}),
    "budget.margin_ratio": (0.0, {"codex", "sliding", "window", "confirm", "workbench"}),
    "compaction.place": ("start", {"layers", "sliding", "window", "confirm", "workbench"}),
    "compaction.update": (True, {"codex", "window", "confirm", "workbench"}),
    "compaction.max_compactions": (0, {"codex", "layers", "window", "confirm", "workbench"}),
    "compaction.acknowledgement": ("", {"codex", "layers", "sliding", "window", "workbench"}),
}


def preset(name: str) -> Policy:
    return load_policy(name, env={}, folder=Path("no-such-folder")).policy


def value_of(policy: Policy, knob: str) -> Any:
    section, key = knob.split(".")
    return getattr(getattr(policy, section), key)


def test_the_presets_are_the_files_that_ship_with_the_program() -> None:
    assert sorted(preset_names()) == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert sorted(preset_names()) == sorted([*DOCUMENTED, RECORDED])
    assert preset_names()[0] == "workbench"


@requirement("layers", "configuration", "by default history has 20,000 tokens, a result 8,000, cut at its head")
@requirement("layers", "configuration", "by default the first 2 and the last 5 results stay visible")
@requirement("layers", "configuration", "by default a turn has 25 iterations")
@requirement("layers", "configuration", "every setting has a default, and all of them may be left out")
@requirement("sliding", "configuration", "5 turns, 2 of overlap, a share of 0.7, 700,000 tokens by default")
@requirement(
    "codex",
    "configuration",
    "by default 10 KiB, 256, 128 and 128 lines, 70 %, 20,000 tokens of user messages, 32 KiB of instructions",
)
@pytest.mark.parametrize(
    ("name", "knob", "value"),
    [(name, knob, value) for name, values in DOCUMENTED.items() for knob, value in values.items()],
)
def test_a_preset_has_the_documented_value(name: str, knob: str, value: Any) -> None:
    assert value_of(preset(name), knob) == value


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_a_preset_says_nothing_more(name: str) -> None:
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert table.pop("description")
    assert {knob for knob, _ in flatten_table(table)} == {*DOCUMENTED[name], "compaction.preface"}


@pytest.mark.parametrize(
    ("name", "knob", "value"),
    [(name, knob, value) for knob, (value, names) in SILENT.items() for name in sorted(names)],
)
def test_what_a_system_does_not_do_is_off(name: str, knob: str, value: Any) -> None:
    assert value_of(preset(name), knob) == value


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_what_holds_for_all(name: str) -> None:
    policy = preset(name)
    assert policy.name == name
    assert policy.instructions.max_bytes == 32 * 1024
    assert policy.instructions.root_markers == MARKERS
    assert policy.compaction.cooldown_turns == 1
    assert policy.compaction.min_freed == 0.1
    assert policy.budget.reserve_max_ratio == 0.25
    assert dict(policy.truncation.tools) == {}


@pytest.mark.parametrize("name", sorted(set(DOCUMENTED) - {"confirm"}))
def test_a_summary_is_framed_as_a_record_without_instructions(name: str) -> None:
    preface = preset(name).compaction.preface
    assert "record" in preface.lower()
    assert "no instructions" in preface
    assert preface.endswith(":\n\n")


def test_confirm_puts_the_documented_words_before_the_summary() -> None:
    assert preset("confirm").compaction.preface == "[Conversation summary from compaction]: "


def test_a_preset_says_where_its_values_come_from() -> None:
    origins = load_policy("codex", env={}, folder=Path("no-such-folder")).origins
    said = {knob for knob, origin in origins.items() if origin == "preset codex"}
    assert said == {*DOCUMENTED["codex"], "compaction.preface"}
    assert {origins[knob] for knob in set(KNOBS) - said} == {"default"}


def test_without_a_preset_nothing_is_summarised() -> None:
    assert CompactionPolicy().mode == "off"


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_a_preset_tells_in_a_comment_what_it_reproduces(name: str) -> None:
    lines = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert all(len(line) <= 120 for line in lines)
