"""No pattern covers more than it says, and none that is offered is wider than it has to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.approval_calls import command, writing
from workbench.agent.approval_patterns import advised_pattern, exact_pattern, pattern_allows, suggested_patterns
from workbench.agent.approvals import (
    Approvals,
)
from workbench.agent.tools.base import ProposedCall
from workbench.config.errors import WrongCall


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("run_command:git *", ["git", "git status", " git log "], ["gitk", "ls git ", "env git status"]),
        ("run_command:git status", ["git status"], ["git status -s", "git"]),
        ("run_command:make*", ["make", "makes"], ["cmake"]),
        ("run_command:rm \\*", ["rm *"], ["rm -rf /", "rm x", "rm \\*"]),
        ("run_command:a && b", ["a && b"], ["a && b && c", "a"]),
        ("run_command", ["ls", "a && b; c > d"], []),
        ("run_command:*", ["ls", "git push"], ["a && b", "ls > x"]),
    ],
)
def test_a_commands_pattern_is_its_text_or_its_beginning(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [text for text in yes if not pattern_allows(pattern, command(text))] == []
    assert [text for text in no if pattern_allows(pattern, command(text))] == []


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("write_file:src/**", ["src/a", "src/x/y.py"], ["src", "srcs/a", "/src/a"]),
        ("write_file:*.py", ["a.py"], ["x/a.py"]),
        ("write_file:**", ["a", "x/y"], ["/elsewhere/a"]),
        ("write_file:/elsewhere/**", ["/elsewhere/a"], ["elsewhere/a"]),
        ("write_file", ["a", "/elsewhere/a"], []),
        ("*_file:a", ["a"], ["b"]),
    ],
)
def test_a_files_pattern_is_for_its_real_path(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not pattern_allows(pattern, writing(path))] == []
    assert [path for path in no if pattern_allows(pattern, writing(path))] == []
    assert not pattern_allows("edit_file:**", writing("a"))


smuggled = st.sampled_from(
    [
        ";",
        "&&",
        "||",
        "|",
        "&",
        "`",
        "$(",
        ">",
        "<",
        "\n",
        "\r",
        "=(",
        "<(",
        ")",
        "$x",
        "${x@P}",
        "$'",
        "*",
        "?",
        "[a]",
        "{a,b}",
    ]
)


unquoted = st.text(max_size=10).filter(lambda text: not set("'\"\\") & set(text))


@given(unquoted, smuggled, unquoted, st.sampled_from(["git *", "git*", "*", "git log *"]))
def test_a_second_command_is_never_smuggled_past_a_beginning(
    before: str, operator: str, after: str, pattern: str
) -> None:
    # What a shell reads as white space at either end is not part of the command.
    call = command(f"git log {before}{operator}{after}.")
    assert not pattern_allows(f"run_command:{pattern}", call)
    assert Approvals(allow=[f"run_command:{pattern}"]).decision_for(call) == "ask"


subjects = st.text("ab*?[]!\\ ;&|/.", min_size=1, max_size=8).filter(lambda text: text.strip() == text != "")
paths = subjects.map(lambda text: text.strip("/")).filter(bool)


@given(subjects, subjects)
def test_the_exact_pattern_of_a_command_covers_it_and_no_other(one: str, other: str) -> None:
    assert pattern_allows(exact_pattern(command(one)), command(one))
    assert pattern_allows(exact_pattern(command(one)), command(other)) == (one == other)


@given(paths, paths)
def test_the_exact_pattern_of_a_file_covers_it_and_no_other(one: str, other: str) -> None:
    assert pattern_allows(exact_pattern(writing(one)), writing(one))
    assert pattern_allows(exact_pattern(writing(one)), writing(other)) == (one == other)


@given(st.builds(ProposedCall, st.just("t"), st.sampled_from(["run", "write"]), paths))
def test_every_pattern_offered_covers_the_call(call: ProposedCall) -> None:
    assert all(pattern_allows(pattern, call) for pattern in suggested_patterns(call))


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("git status -s", ["git status -s", "git status *"]),
        ("ls -la", ["ls -la", "ls *"]),
        ("ls", ["ls", "ls *"]),
        ("python3.11 x.py", ["python3.11 x.py"]),
        ("/usr/bin/env x", ["/usr/bin/env x"]),
        ("ls; rm x", ["ls; rm x"]),
        ("FOO=1 ls", ["FOO=1 ls"]),
        ("echo 'open", ["echo 'open"]),
        ("pytest tests/ -k 'a and b'", ["pytest tests/ -k 'a and b'"]),
        ("ls $x", ["ls $x"]),
        ("git -C x status", ["git -C x status"]),
        ("'git' status", ["'git' status"]),
    ],
)
def test_what_is_offered_for_a_command_is_no_wider_than_its_sub_command(text: str, offered: list[str]) -> None:
    assert suggested_patterns(command(text)) == tuple(f"run_command:{each}" for each in offered)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "uv run pytest",
            "git log -1",
            "git push",
            "git x",
            "sed -n p f",
            "env ls",
            "xargs ls",
            "npm exec x",
            "npm run x",
        ),
        *("python x.py", "node x.js", "perl x", "find . -exec ls", "make test", "ssh host", "awk 1 f", "tar xf a.tar"),
        *(
            "sort f",
            "rg x",
            "cat f",
            "tee f",
            "cp a b",
            "rm f",
            "sudo ls",
            "cargo test",
            "go test",
            "vim f",
            "mytool x",
        ),
    ],
)
def test_nothing_wider_is_offered_for_what_could_run_or_write_anything(text: str) -> None:
    assert suggested_patterns(command(text)) == (f"run_command:{text}",)


def test_what_is_offered_for_a_file_is_its_folder_and_the_project() -> None:
    assert suggested_patterns(writing("src/x/a.py")) == (
        "write_file:src/x/a.py",
        "write_file:src/x/**",
        "write_file:**",
    )
    assert suggested_patterns(writing("a[1].py")) == ("write_file:a[[]1].py", "write_file:**")
    for kind in ("run", "read"):
        assert suggested_patterns(ProposedCall("server_tool", kind, "")) == ("server_tool",)


def test_for_a_servers_tool_all_its_calls_and_all_tools_of_the_server_are_offered() -> None:
    call = ProposedCall("notes__add", "run", '{"text": "rm -rf *; echo"}')
    found = suggested_patterns(call)
    assert found == ('notes__add:{"text": "rm -rf *; echo"}', "notes__add", "notes__*")
    assert all(pattern_allows(pattern, call) for pattern in found)
    assert pattern_allows("notes__*", ProposedCall("notes__read", "run", "{}"))
    assert not pattern_allows("notes__*", ProposedCall("run_command", "run", "notes__add"))
    unclear = ProposedCall("a__b__c", "run", '{"x": 1}')
    assert suggested_patterns(unclear)[1:] == ("a__b__c",), "whose server that is, is not sure"
    assert advised_pattern(call) == "notes__add"
    assert advised_pattern(command("git log")) == "run_command:git log"


@pytest.mark.parametrize("pattern", ["", ":", "run command:x", "run_command:", "run_command: ", "a/b", "x:\ud800"])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(WrongCall, match=r"^--allow: expected "):
        Approvals(allow=[pattern])
