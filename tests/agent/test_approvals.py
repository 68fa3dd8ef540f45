"""Reading is free, writing and running ask; no answer reaches further than its pattern."""

from __future__ import annotations

import asyncio
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.approval_patterns import advised, covers, exact, suggestions
from workbench.agent.approvals import (
    ApprovalAnswer,
    ApprovalQuestion,
    Approvals,
    Choice,
    Saved,
    forget,
    load_saved,
    save,
)
from workbench.agent.tools.base import Kind, ProposedCall
from workbench.config.errors import WrongCall
from workbench.config.paths import config_dir


def command(text: str) -> ProposedCall:
    return ProposedCall("run_command", "run", text)


def writing(path: str, tool: str = "write_file") -> ProposedCall:
    return ProposedCall(tool, "write", path)


class Person:
    """Answers, and remembers what it was asked."""

    def __init__(self, choice: Choice, pattern: str = "") -> None:
        self.answer = ApprovalAnswer(choice, pattern)
        self.asked: list[ApprovalQuestion] = []

    async def __call__(self, question: ApprovalQuestion) -> ApprovalAnswer:
        self.asked.append(question)
        await asyncio.sleep(0)  # another call may come in meanwhile
        return self.answer


# Patterns


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
    assert [text for text in yes if not covers(pattern, command(text))] == []
    assert [text for text in no if covers(pattern, command(text))] == []


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
    assert [path for path in yes if not covers(pattern, writing(path))] == []
    assert [path for path in no if covers(pattern, writing(path))] == []
    assert not covers("edit_file:**", writing("a"))


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
    assert not covers(f"run_command:{pattern}", call)
    assert Approvals(allow=[f"run_command:{pattern}"]).decide(call) == "ask"


subjects = st.text("ab*?[]!\\ ;&|/.", min_size=1, max_size=8).filter(lambda text: text.strip() == text != "")
paths = subjects.map(lambda text: text.strip("/")).filter(bool)


@given(subjects, subjects)
def test_the_exact_pattern_of_a_command_covers_it_and_no_other(one: str, other: str) -> None:
    assert covers(exact(command(one)), command(one))
    assert covers(exact(command(one)), command(other)) == (one == other)


@given(paths, paths)
def test_the_exact_pattern_of_a_file_covers_it_and_no_other(one: str, other: str) -> None:
    assert covers(exact(writing(one)), writing(one))
    assert covers(exact(writing(one)), writing(other)) == (one == other)


@given(st.builds(ProposedCall, st.just("t"), st.sampled_from(["run", "write"]), paths))
def test_every_pattern_offered_covers_the_call(call: ProposedCall) -> None:
    assert all(covers(pattern, call) for pattern in suggestions(call))


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
        ("pytest tests/ -k 'a and b'", ["pytest tests/ -k 'a and b'", "pytest *"]),
        ("ls $x", ["ls $x"]),
        ("git -C x status", ["git -C x status"]),
        ("'git' status", ["'git' status"]),
    ],
)
def test_what_is_offered_for_a_command_is_no_wider_than_its_sub_command(text: str, offered: list[str]) -> None:
    assert suggestions(command(text)) == tuple(f"run_command:{each}" for each in offered)


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
    assert suggestions(command(text)) == (f"run_command:{text}",)


def test_what_is_offered_for_a_file_is_its_folder_and_the_project() -> None:
    assert suggestions(writing("src/x/a.py")) == ("write_file:src/x/a.py", "write_file:src/x/**", "write_file:**")
    assert suggestions(writing("a[1].py")) == ("write_file:a[[]1].py", "write_file:**")
    for kind in ("run", "read"):
        assert suggestions(ProposedCall("server_tool", kind, "")) == ("server_tool",)


def test_for_a_servers_tool_all_its_calls_and_all_tools_of_the_server_are_offered() -> None:
    call = ProposedCall("notes__add", "run", '{"text": "rm -rf *; echo"}')
    found = suggestions(call)
    assert found == ('notes__add:{"text": "rm -rf *; echo"}', "notes__add", "notes__*")
    assert all(covers(pattern, call) for pattern in found)
    assert covers("notes__*", ProposedCall("notes__read", "run", "{}"))
    assert not covers("notes__*", ProposedCall("run_command", "run", "notes__add"))
    unclear = ProposedCall("a__b__c", "run", '{"x": 1}')
    assert suggestions(unclear)[1:] == ("a__b__c",), "whose server that is, is not sure"
    assert advised(call) == "notes__add"
    assert advised(command("git log")) == "run_command:git log"


@pytest.mark.parametrize("pattern", ["", ":", "run command:x", "run_command:", "run_command: ", "a/b", "x:\ud800"])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(WrongCall, match=r"^--allow: expected "):
        Approvals(allow=[pattern])


# Decisions


def test_reading_is_free_and_the_rest_asks() -> None:
    kinds: dict[Kind, str] = {"read": "allow", "write": "ask", "run": "ask"}
    for kind, decision in kinds.items():
        assert Approvals().decide(ProposedCall("t", kind, "x")) == decision


def test_a_call_that_cannot_work_is_denied_without_asking() -> None:
    call = ProposedCall("write_file", "write", "", "path: outside")
    approvals = Approvals(allow=["write_file"])
    assert approvals.decide(call) == "deny"
    assert approvals.refusal(call, asked=True) == "path: outside"


def test_never_wins_and_sees_every_part_of_a_command() -> None:
    approvals = Approvals(Saved(("run_command",), ("run_command:git push *", "read_file:secret/**", "fly")))
    written = ("git push", "git push -f", "cd x && git push origin", "echo $(git push)", "a\ngit push")
    for text in (*written, "git push $x", "git  push", "git 'push' *", 'x; g"it" push'):
        assert approvals.decide(command(text)) == "deny"
    assert approvals.decide(command("git pull")) == "allow"
    assert approvals.decide(ProposedCall("read_file", "read", "secret/key")) == "deny"
    assert approvals.decide(ProposedCall("fly", "run", "x")) == "deny"
    assert "never allows" in approvals.refusal(command("git push"), asked=True)


@pytest.mark.parametrize(
    ("choice", "now", "again"),
    [
        ("once", True, "ask"),
        ("session", True, "allow"),
        ("always", True, "allow"),
        ("no", False, "ask"),
        ("never", False, "deny"),
    ],
)
async def test_an_answer_holds_as_long_as_it_says(choice: Choice, now: bool, again: str) -> None:
    approvals = Approvals.load()
    person = Person(choice)
    assert await approvals.approve(command("make test"), person) is now
    assert [question.patterns for question in person.asked] == [("run_command:make test",)]
    assert approvals.decide(command("make test")) == again
    assert approvals.decide(command("make test2")) == "ask"
    later = Approvals.load().decide(command("make test"))
    assert later == (again if choice in ("always", "never") else "ask")


async def test_an_answer_for_a_pattern_holds_for_all_it_covers() -> None:
    approvals = Approvals.load()
    assert await approvals.approve(command("git log"), Person("always", "run_command:git *"))
    nobody = Person("no")
    assert await approvals.approve(command("git status"), nobody)
    assert not await approvals.approve(command("git status; rm x"), nobody)
    assert len(nobody.asked) == 1


async def test_one_question_at_a_time_and_its_answer_settles_the_others() -> None:
    approvals = Approvals()
    person = Person("session", "write_file:src/**")
    asked = (approvals.approve(writing(f"src/{n}"), person) for n in range(3))
    assert await asyncio.gather(*asked) == [True, True, True]
    assert len(person.asked) == 1


async def test_with_nobody_to_ask_only_what_is_allowed_runs_and_the_model_learns_how() -> None:
    approvals = Approvals.load(allow=["run_command:ls *"])
    assert await approvals.approve(command("ls -l"), None)
    assert not await approvals.approve(command("echo 'hi'"), None)
    said = approvals.refusal(command("echo 'hi'"), asked=False)
    assert "--allow 'run_command:echo '\\''hi'\\'''" in said
    assert str(config_dir() / "approvals.toml") in said
    assert "refused" in approvals.refusal(command("x"), asked=True)


# The file


patterns = st.lists(
    st.tuples(st.sampled_from(["run_command", "write_file", "x.*"]), st.text().filter(str.strip)).map(":".join),
    max_size=4,
    unique=True,
).map(tuple)


@given(patterns, patterns)
def test_what_is_saved_is_loaded_again(always: tuple[str, ...], never: tuple[str, ...]) -> None:
    path = config_dir() / "approvals.toml"
    path.unlink(missing_ok=True)
    save(path, Saved(always[:1], never))
    save(path, Saved(always, ()))
    assert load_saved(path) == Saved(always, never)


lines = st.lists(st.sampled_from(['"run_command:a",', '"run_command:b" , # after', "# alone", ""]), max_size=5)


@given(lines, st.sampled_from(["", '"x"', '"x" # last', '"x"\n  # behind']), patterns)
def test_what_the_user_wrote_in_the_file_stays(body: list[str], last: str, more: tuple[str, ...]) -> None:
    path = config_dir() / "approvals.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# mine\nnever = [ # so\n" + "\n".join([*body, last]) + "\n] # done\n\n# the end\n")
    before = path.read_text()
    save(path, Saved(never=more))
    comment = re.compile("# (?:mine|so|after|alone|last|behind|done|the end)$", re.MULTILINE)
    assert comment.findall(path.read_text()) == comment.findall(before)
    written = tomllib.loads(before)["never"]
    assert load_saved(path).never == (*written, *(pattern for pattern in more if pattern not in written))


@given(patterns, patterns.filter(bool))
def test_what_is_forgotten_is_gone_and_the_rest_stays(always: tuple[str, ...], never: tuple[str, ...]) -> None:
    path = config_dir() / "approvals.toml"
    path.unlink(missing_ok=True)
    save(path, Saved(always, never))
    path.write_text(f"# mine\n{path.read_text()}# the end\n")
    forget(path, never[0])
    kept = [tuple(each for each in patterns if each != never[0]) for patterns in (always, never)]
    assert load_saved(path) == Saved(*kept)
    assert path.read_text().startswith("# mine\n")
    assert path.read_text().endswith("# the end\n")
    with pytest.raises(WrongCall, match="has no"):
        forget(path, never[0])


async def test_answers_of_another_session_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "approvals.toml"
    one, other = Approvals.load(path=path), Approvals.load(path=path)
    await one.approve(command("a"), Person("always"))
    await other.approve(command("b"), Person("never"))
    await one.approve(command("a b"), Person("always", "run_command:a *"))
    assert tomllib.loads(path.read_text())["always"] == ["run_command:a", "run_command:a *"]
    assert load_saved(path).never == ("run_command:b",)


async def test_an_answer_that_cannot_be_saved_holds_for_the_session(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    approvals = Approvals(path=tmp_path / "file" / "approvals.toml")
    assert await approvals.approve(command("a"), Person("always"))
    assert approvals.decide(command("a")) == "allow"
    assert "cannot be written" in approvals.problems[0]
    broken = tmp_path / "broken.toml"
    broken.write_text("always = 7")
    approvals = Approvals(path=broken)
    await approvals.approve(command("a"), Person("always"))
    assert broken.read_text() == "always = 7"
    assert approvals.problems == [f"{broken}: always: expected a list of patterns, got 7"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("allways = []", "allways: no such key; expected one of always, never; did you mean always?"),
        ("always = 'x'", "always: expected a list of patterns, got 'x'"),
        ("never = [1]", "never: expected a list of patterns, got [1]"),
        ("never = ['a b:c']", "never: expected TOOL or TOOL:PATTERN"),
    ],
)
def test_a_file_that_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "approvals.toml"
    path.write_text(text)
    with pytest.raises(WrongCall) as error:
        Approvals.load(path=path)
    assert str(error.value).startswith(f"{path}: {problem}")
