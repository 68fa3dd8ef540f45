"""A policy is filled from several places, the later wins; what is wrong is refused with its place."""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from support.requirements import requirement
from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.context.knobs import KNOBS
from workbench.context.load import (
    LoadedPolicy,
    describe_policy,
    load_policy,
    portable_policy,
    preset_names,
    user_policies,
)
from workbench.context.policy import NO_LIMIT
from workbench.context.policy_files import policy_path
from workbench.context.policy_text import policy_text


def load(ref: str | None = None, *sets: str, folder: Path = Path("no-such-folder"), **rest: Any) -> LoadedPolicy:
    """A policy without the tester's own environment and config folder."""
    return load_policy(ref, sets=sets, folder=folder, **{"env": {}, **rest})


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def message(*args: Any, **kwargs: Any) -> str:
    """The one line of a refusal."""
    with pytest.raises(WrongCall) as caught:
        load(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


# Order and origins.


def test_the_default_is_the_workbench_preset() -> None:
    assert load(None) == load("") == load("workbench")
    assert load(None).policy.name == "workbench"


@requirement(
    "confirm",
    "configuration",
    "the threshold can be set for an agent, a provider's model, or everything",
    decided="a policy file, a model's entry, the environment or an option sets it, as any knob",
)
def test_the_order_is_preset_file_model_environment_set(tmp_path: Path) -> None:
    file = write(
        tmp_path / "policies" / "mine.toml",
        'extends = "layers"\n[masking]\nkeep_last = 6\nkeep_first = 6\nmin_tokens = 6\nbatch_tokens = 6\n',
    )
    loaded = load(
        "mine",
        "masking.keep_first=9",
        folder=tmp_path,
        env={"WORKBENCH_MASKING__KEEP_FIRST": "8", "WORKBENCH_MASKING__MIN_TOKENS": "8"},
        model_knobs={"masking": {"keep_first": 7, "min_tokens": 7, "batch_tokens": 7}},
        model_origin="the entry of m",
    )
    masking = loaded.policy.masking
    assert (masking.keep_first, masking.min_tokens, masking.batch_tokens, masking.keep_last) == (9, 8, 7, 6)
    assert masking.scope == "turn"
    assert loaded.origins["masking.keep_first"] == "--set"
    assert loaded.origins["masking.min_tokens"] == "environment WORKBENCH_MASKING__MIN_TOKENS"
    assert loaded.origins["masking.batch_tokens"] == "the entry of m"
    assert loaded.origins["masking.keep_last"] == f"policy file {file}"
    assert loaded.origins["masking.scope"] == "preset layers"
    assert loaded.origins["masking.batch_ratio"] == "default"


def test_of_two_sets_of_one_knob_the_last_holds() -> None:
    assert load(None, "masking.keep_last=1", "masking.keep_last=2").policy.masking.keep_last == 2


def test_every_knob_has_an_origin_and_a_row_with_a_meaning() -> None:
    loaded = load("codex", "truncation.tools.run_command.max_tokens=500")
    rows = describe_policy(loaded)
    assert [row.name for row in rows] == [*KNOBS, "truncation.tools.run_command.max_tokens"]
    assert all(row.origin and row.meaning for row in rows)
    assert (rows[-1].value, rows[-1].written) == (500, "500")
    assert next(row for row in rows if row.name == "compaction.headless_mode").value is None


def test_the_process_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_MASKING__KEEP_LAST", "77")
    assert load(env=None).policy.masking.keep_last == 77


def test_the_config_folder_is_asked_for_when_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "policies" / "mine.toml", "[masking]\nkeep_last = 9\n")
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", str(tmp_path))
    assert load_policy("mine", env={}).policy.masking.keep_last == 9
    assert user_policies() == [file]


def test_a_loaded_policy_cannot_be_changed() -> None:
    loaded = load(None, "truncation.tools.grep.strategy=tail")
    with pytest.raises(TypeError):
        loaded.policy.truncation.tools["grep"] = None  # type: ignore[index]  # the refusal is the point
    with pytest.raises(TypeError):
        loaded.origins["masking.keep_last"] = "me"  # type: ignore[index]  # the refusal is the point
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.policy.masking.keep_last = 3  # type: ignore[misc]  # the refusal is the point


# Values as people write them.


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("masking.batch_tokens=20_000", 20_000),
        (" masking.keep_last = 3 ", 3),
        ("compaction.threshold=1", 1.0),
        ("truncation.strategy=head", "head"),
        ('truncation.strategy="head"', "head"),
        ("compaction.model=openai/gpt-4o", "openai/gpt-4o"),
        ("compaction.preface=", ""),
        ("compaction.preface=a=b # c", "a=b # c"),
        ("compaction.preface=1\nmasking.keep_last = 2", "1\nmasking.keep_last = 2"),
        ("compaction.inclusive=false", False),
        ('instructions.root_markers=[".jj"]', (".jj",)),
    ],
)
def test_values_are_toml_and_else_plain_text(option: str, expected: Any) -> None:
    loaded = load(None, option)
    assert attrgetter(option.partition("=")[0].strip())(loaded.policy) == expected


@pytest.mark.parametrize(
    ("variable", "tool"),
    [
        ("WORKBENCH_TRUNCATION__TOOLS__RUN_COMMAND__MAX_TOKENS", "run_command"),
        ("WORKBENCH_TRUNCATION__TOOLS__Bash__MAX_TOKENS", "Bash"),
        ("WORKBENCH_TRUNCATION__TOOLS__MCP__FILES__READ__MAX_TOKENS", "mcp__files__read"),
    ],
)
def test_a_variable_names_a_tool(variable: str, tool: str) -> None:
    assert load(env={variable: "500"}).policy.truncation.tools[tool].max_tokens == 500


def test_a_tool_may_have_dots_in_its_name(tmp_path: Path) -> None:
    file = write(tmp_path / "p.toml", '[truncation.tools."files.read"]\nmax_tokens = 500\n')
    for loaded in (load(str(file)), load(None, "truncation.tools.files.read.max_tokens=500")):
        assert loaded.policy.truncation.tools["files.read"].max_tokens == 500


def test_overrides_of_one_tool_from_several_places_are_joined(tmp_path: Path) -> None:
    file = write(tmp_path / "p.toml", '[truncation.tools.grep]\nstrategy = "tail"\nmax_tokens = 5\n')
    own = load(str(file), "truncation.tools.grep.max_tokens=6").policy.truncation.tools["grep"]
    assert (own.strategy, own.max_tokens, own.max_bytes) == ("tail", 6, None)


def test_only_variables_with_a_double_underscore_are_knobs() -> None:
    env = {"WORKBENCH_CONFIG_DIR": "x", "WORKBENCH_WHATEVER": "y", "MASKING__KEEP_LAST": "3"}
    assert load(env=env) == load()


def test_a_model_may_bring_its_own_knobs_dotted_or_in_tables() -> None:
    tables = MappingProxyType({"instructions": MappingProxyType({"root_markers": (".jj",)})})
    assert load(model_knobs=tables).policy.instructions.root_markers == (".jj",)
    assert load(model_knobs={"masking.keep_last": 3}).policy.masking.keep_last == 3


# Wrong calls.


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("masking.keep_last", "--set masking.keep_last: expected KEY=VALUE"),
        ("masking.keep_lst=3", "masking.keep_lst: no such knob; did you mean masking.keep_last"),
        ("maskin.keep_last=3", "maskin.keep_last: no such knob; did you mean masking.keep_last"),
        ("keep_last=3", "keep_last: no such section or knob; did you mean masking.keep_last?"),
        ("masking=3", "--set: masking: expected a table of knobs"),
        ("truncation.tools=3", "--set: truncation.tools: expected a table of knobs"),
        ("truncation.tools.grep=3", "truncation.tools.grep: no such knob of a tool"),
        ("truncation.tools..max_tokens=3", "truncation.tools..max_tokens: no such knob of a tool"),
        ("truncation.tools.grep.max_token=3", "did you mean max_tokens"),
        ("qqq.zzz=3", "--set: qqq.zzz: no such knob"),
        ("compaction.preface=\udcff", "compaction.preface: expected text, got"),
        (f"masking.keep_last={NO_LIMIT + 1}", f"from 0 up and at most {NO_LIMIT}, got {NO_LIMIT + 1}"),
        ("masking.keep_last=three", "expected a whole number from 0 up, got 'three'"),
        ("budget.margin_ratio=2", "expected a number from 0 to 0.9, got 2"),
        ("compaction.threshold=1.5", "expected a number from 0 to 1, got 1.5"),
    ],
)
def test_a_wrong_set_says_what_was_expected(option: str, said: str) -> None:
    assert said in message(None, option)


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("WORKBENCH_MASKNG__KEEP_LAST", "did you mean masking.keep_last"),
        ("WORKBENCH__MASKING__KEEP_LAST", "did you mean masking.keep_last"),
        ("WORKBENCH_TRUNCATION__TOOLS__MAX_TOKENS", "no such knob of a tool"),
    ],
)
def test_an_unknown_variable_is_named_with_the_closest_knob(variable: str, said: str) -> None:
    text = message(env={variable: "3"})
    assert text.startswith(f"{variable}: ")
    assert said in text


def test_a_wrong_value_in_a_variable_names_variable_and_knob() -> None:
    assert message(env={"WORKBENCH_MASKING__KEEP_LAST": "many"}) == (
        "WORKBENCH_MASKING__KEEP_LAST: masking.keep_last: expected a whole number from 0 up, got 'many'"
    )


def test_wrong_model_knobs_name_where_they_stand() -> None:
    text = message(model_knobs={"masking": {"keep_last": -1}}, model_origin="config.toml [models.m.knobs]")
    assert text.startswith("config.toml [models.m.knobs]: masking.keep_last: expected")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[masking]\nkeep_last = 'three'\n",
            ": masking.keep_last: expected a whole number from 0 up, got 'three'",
        ),
        ("[masking]\nkeep_last = {x = 1}\n", ": masking.keep_last: expected a whole number"),
        ("[maskin]\n", ": maskin: no such section; did you mean masking?"),
        ("[maskin]\nkeep_last = 1\n", ": maskin: no such section; did you mean masking?"),
        ("masking = 3\n", ": masking: expected a table of knobs"),
        ("[truncation]\ntools = 3\n", ": truncation.tools: expected a table of knobs"),
        ("[truncation.tools]\ngrep = 3\n", ": truncation.tools.grep: no such knob of a tool"),
        ('extend = "layers"\n', ": extend: no such section; did you mean extends?"),
        ("extends = 3\n", ": extends: expected text, got 3"),
        ("name = true\n", ": name: expected text, got True"),
        ("[masking]\nkeep_last = \n", ", line 2: expected TOML: "),
        ("[masking", ", line 1: expected TOML: "),
        ("x = " + "[" * 20_000, "expected TOML"),
        ("x = " + "9" * 5000, "expected TOML: "),
        ('extends = "nobody"\n', ": extends: no policy named 'nobody'; expected workbench, codex"),
        ('extends = "layer"\n', ": extends: no policy named 'layer'; did you mean layers?"),
        ('extends = "./gone.toml"\n', "gone.toml: no such file"),
    ],
)
def test_a_wrong_policy_file_names_file_key_and_expectation(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path / "p.toml", text)
    refusal = message(str(file))
    assert refusal.startswith(str(tmp_path))
    assert said in refusal


def test_a_policy_file_in_another_encoding_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_bytes(b"# fine\n# na\xefve\n")
    assert message(str(file)) == f"{file}, line 2: expected UTF-8 text, got the byte 0xef"


def test_a_folder_is_no_policy_file(tmp_path: Path) -> None:
    (tmp_path / "p.toml").mkdir()
    assert message(str(tmp_path / "p.toml")).startswith(f"{tmp_path / 'p.toml'}: cannot be read: ")


def test_an_unknown_name_lists_what_there_is(tmp_path: Path) -> None:
    write(tmp_path / "policies" / "mine.toml", "")
    text = message("nothing-like-it", folder=tmp_path)
    for name in (*preset_names(), "mine"):
        assert name in text


def test_values_that_contradict_each_other_are_refused_where_the_last_was_set(tmp_path: Path) -> None:
    assert message("codex", "truncation.head_lines=200") == (
        "--set: truncation: expected head_lines + tail_lines of at most max_lines (256), got 200 + 128"
    )
    assert message("codex", env={"WORKBENCH_TRUNCATION__MAX_LINES": "10"}).startswith(
        "WORKBENCH_TRUNCATION__MAX_LINES: truncation: expected"
    )
    file = write(tmp_path / "p.toml", '[truncation.tools.grep]\nstrategy = "lines"\nhead_lines = 1\ntail_lines = 300\n')
    assert message(str(file)).startswith(f"{file}: truncation.tools.grep: expected head_lines + tail_lines")
    assert load(None, "truncation.head_lines=200").policy.truncation.head_lines == 200
    assert "reserve_ratio + margin_ratio below 1" in message(
        None, "budget.reserve_ratio=0.5", "budget.margin_ratio=0.5"
    )


# Policy files.


def test_a_file_without_extends_stands_on_the_default(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.toml", "\ufeff[masking]\nkeep_last = 3\n")
    policy = load(str(file)).policy
    base = load("workbench").policy
    assert policy.name == "mine"
    assert policy.description == "workbench, changed by mine.toml"
    changed = replace(base.masking, keep_last=3)
    assert policy == replace(base, name="mine", description=policy.description, masking=changed)


def test_a_file_may_extend_a_preset_a_file_and_a_policy_of_the_config_folder(tmp_path: Path) -> None:
    write(tmp_path / "policies" / "house.toml", 'extends = "layers"\n[masking]\nkeep_first = 7\n')
    write(tmp_path / "project" / "base.toml", 'extends = "house"\n[masking]\nkeep_last = 8\n')
    write(tmp_path / "project" / "deep" / "top.toml", 'extends = "../base.toml"\nname = "top of all"\n')
    write(tmp_path / "project" / "sibling.toml", 'extends = "base"\ndescription = "ours"\n')
    loaded = load(str(tmp_path / "project" / "deep" / "top.toml"), folder=tmp_path)
    assert (loaded.policy.masking.keep_first, loaded.policy.masking.keep_last) == (7, 8)
    assert loaded.policy.history.max_tokens == 20_000
    assert loaded.policy.name == "top of all"
    assert load(str(tmp_path / "project" / "sibling.toml"), folder=tmp_path).policy.description == "ours"


def test_a_policy_is_found_by_a_plain_file_name_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "policy", "[masking]\nkeep_last = 9\n")
    write(tmp_path / "other.toml", "[masking]\nkeep_last = 10\n")
    monkeypatch.chdir(tmp_path)
    assert load("policy").policy.masking.keep_last == 9
    assert load("other.toml").policy.masking.keep_last == 10


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "mine.toml", "[masking]\nkeep_last = 9\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load("~/mine.toml").policy.masking.keep_last == 9


def test_files_that_extend_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.toml", 'extends = "b.toml"\n')
    write(tmp_path / "b.toml", 'extends = "a.toml"\n')
    (tmp_path / "link.toml").symlink_to(tmp_path / "self.toml")
    write(tmp_path / "self.toml", 'extends = "link.toml"\n')
    assert "the loop a.toml -> b.toml -> a.toml" in message(str(tmp_path / "a.toml"))
    assert "the loop self.toml -> self.toml" in message(str(tmp_path / "self.toml"))


def test_a_users_policy_may_not_hide_a_preset(tmp_path: Path) -> None:
    file = write(tmp_path / "policies" / "layers.toml", "")
    assert message("layers", folder=tmp_path) == f"{file}: has the name of a preset; expected another file name"
    assert load("codex", folder=tmp_path).policy.name == "codex"


def test_user_policies_are_listed_by_name_and_none_without_a_folder(tmp_path: Path) -> None:
    assert user_policies(tmp_path) == []
    files = [write(tmp_path / "policies" / f"{name}.toml", "") for name in ("b", "a")]
    write(tmp_path / "policies" / "notes.txt", "")
    assert user_policies(tmp_path) == sorted(files)


def test_a_portable_policy_is_the_same_without_its_files_and_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "base.toml").write_text('extends = "codex"\n[compaction]\nthreshold = 0.5\n[masking]\nkeep_last = 9\n')
    (tmp_path / "mine.toml").write_text(
        'extends = "base.toml"\n[masking]\nkeep_last = 3\n[truncation.tools."a.b"]\nstrategy = "tail"\n'
    )
    monkeypatch.setenv("WORKBENCH_MASKING__KEEP_FIRST", "4")
    whole = load_policy(str(tmp_path / "mine.toml")).policy
    preset, sets = portable_policy(str(tmp_path / "mine.toml"))
    monkeypatch.delenv("WORKBENCH_MASKING__KEEP_FIRST")
    assert preset == "codex"
    again = load_policy(preset, sets=sets).policy
    assert replace(again, name=whole.name, description=whole.description) == whole
    assert (again.masking.keep_first, again.masking.keep_last) == (4, 3)
    assert [portable_policy(name) for name in preset_names()] == [(name, ()) for name in preset_names()]


def test_the_name_of_a_policy_is_a_plain_word_and_no_presets() -> None:
    assert policy_path("mine-2_b").name == "mine-2_b.toml"
    for name in ("", "../mine", "a b", "-x", "x" * 42):
        with pytest.raises(WrongCall, match="expected a name of letters"):
            policy_path(name)
    with pytest.raises(WrongCall, match="is a preset"):
        policy_path("layers")


def test_a_policy_that_is_written_as_text_reads_back_with_its_knobs(tmp_path: Path) -> None:
    knobs = {"masking.keep_last": 3, "instructions.root_markers": (".git", ".hg")}
    made = load_policy(str(write(tmp_path / "mine.toml", policy_text("layers", knobs)))).policy
    assert (made.masking.keep_last, made.instructions.root_markers) == (3, (".git", ".hg"))
