"""Help, suggestions, completions and the manual."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.calls import Call
from workbench.cli.help import GROUPS, SHELLS
from workbench.cli.main import make_parser


def command_names() -> list[str]:
    [action] = [each for each in make_parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return list(action.choices)


def test_each_command_is_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(command_names())


def test_the_help_has_the_groups_and_every_command(call: Call) -> None:
    text = call("help").out
    assert [line for line in text.splitlines() if line in {f"{group}:" for group in GROUPS}] == [
        f"{group}:" for group in GROUPS
    ]
    assert all(f"\n  {name} " in text for name in command_names())


@pytest.mark.parametrize("name", command_names())
def test_every_command_has_help(call: Call, name: str) -> None:
    assert call("help", name).out.startswith(f"usage: workbench {name}")


def test_help_of_a_command_of_a_command(call: Call) -> None:
    assert call("help", "sessions", "search").out.startswith("usage: workbench sessions search")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["pln"], "workbench: there is no command 'pln'; did you mean plan? (see workbench --help)"),
        (["xyzzy"], "workbench: there is no command 'xyzzy' (see workbench --help)"),
        (["plan", "x", "--polcy=y"], "workbench plan: there is no option --polcy; did you mean --policy? (see"),
        (["plan", "a", "b"], "workbench plan: too many arguments: b (see workbench plan --help)"),
        (["sessions", "serch", "x"], "workbench sessions: there is no command 'serch'; did you mean search?"),
        (["help", "pln"], "workbench: there is no command 'pln'; did you mean plan?"),
        (["help", "plan", "x"], "workbench plan has no commands of its own, got 'x'"),
    ],
)
def test_a_mistake_is_one_line_with_a_suggestion(call: Call, arguments: list[str], line: str) -> None:
    done = call(*arguments)
    assert done.code == 2
    assert done.err.startswith(line)
    assert done.err.count("\n") == 1


def test_a_file_without_a_command_says_how_to_open_it(call: Call, talk: Path) -> None:
    assert f"to look at a file: workbench open {talk}" in call(talk).err


@pytest.mark.parametrize("shell", SHELLS)
def test_the_completions_are_valid_in_their_shell(call: Call, tmp_path: Path, shell: str) -> None:
    script = tmp_path / "completions"
    script.write_text(call("completions", shell).out)
    assert "breakpoints" in script.read_text() or shell == "bash"
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    subprocess.run([shell, "-n", str(script)], check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"), [(["comp"], "compactions"), (["plan", "--po"], "--policy"), (["completions", "z"], "zsh")]
)
def test_bash_offers_commands_options_and_choices(call: Call, tmp_path: Path, words: list[str], offered: str) -> None:
    script = tmp_path / "completions"
    script.write_text(call("completions", "bash").out)
    line = " ".join(["workbench", *words])
    asked = f"""
source {script}
COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}
$(complete -p workbench | sed 's/.*-F \\([^ ]*\\).*/\\1/') workbench {words[-1]} workbench
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert offered in done.stdout.split()


def test_the_manual_names_every_command_and_is_valid(call: Call) -> None:
    page = call("help", "--man").out
    assert page.startswith(".TH WORKBENCH 1")
    assert all(f'.SS "workbench {name} ' in page for name in command_names())
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here")
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=page, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "--policy" in re.sub("\x1b\\[[0-9;]*m|.\x08", "", done.stdout)


@pytest.mark.parametrize("name", [name for name in command_names() if name not in GROUPS["more"][-2:]])
def test_a_command_that_is_added_alone_is_the_same(name: str) -> None:
    def described(arguments: list[str] | None) -> str:
        [action] = [each for each in make_parser(arguments)._actions if isinstance(each, argparse._SubParsersAction)]
        assert arguments is None or len(action.choices) < len(GROUPS["look"])
        return str(action.choices[name].format_help())

    assert described([name]) == described(None)
