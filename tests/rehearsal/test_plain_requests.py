"""Plain requests in English, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.rehearsal.plain_requests import PlainRequest, request_rounds


def read(*paths: str) -> list[PlainRequest]:
    return [PlainRequest("read", {"path": path}) for path in paths]


def listing(*paths: str) -> list[PlainRequest]:
    return [PlainRequest("list", {"path": path}) for path in paths]


def search(pattern: str, path: str = ".") -> list[PlainRequest]:
    return [PlainRequest("search", {"pattern": pattern, "path": path})]


def run(command: str) -> list[PlainRequest]:
    return [PlainRequest("run", {"command": command})]


def write(path: str, content: str) -> list[PlainRequest]:
    return [PlainRequest("write", {"path": path, "content": content})]


def edit(path: str, old: str, new: str) -> list[PlainRequest]:
    return [PlainRequest("edit", {"path": path, "old": old, "new": new})]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("read README.md", [read("README.md")]),
        ("Please read the file src/a.py.", [read("src/a.py")]),
        ("read Makefile", [read("Makefile")]),
        ("show me README.md", [read("README.md")]),
        ("read `my file.txt`", [read("my file.txt")]),
        ("read a.py, b.py and c.py", [read("a.py", "b.py", "c.py")]),
        ("list src", [listing("src")]),
        ("ls", [listing(".")]),
        ("list the files in src/ please", [listing("src/")]),
        ("list files", [listing(".")]),
        ("list files in .", [listing(".")]),
        ("list the src folder", [listing("src")]),
        ("search for TODO in src", [search("TODO", "src")]),
        ("search src for two words", [search("two words", "src")]),
        ("search for TODO", [search("TODO")]),
        ('find "a and b" in the project', [search("a and b")]),
        ("grep main in the folder lib", [search("main", "lib")]),
        ("run make test.", [run("make test")]),
        ("run `ls; pwd`", [run("ls; pwd")]),
        ('run echo "read me and list you"', [run('echo "read me and list you"')]),
        ("run git add . and list tests", [run("git add .") + listing("tests")]),
        ("write notes.txt: hello world", [write("notes.txt", "hello world")]),
        ("write a.py:\nx = 1\nread = 2\n", [write("a.py", "x = 1\nread = 2\n")]),
        ('write "hi there" to b.txt', [write("b.txt", "hi there")]),
        ("replace 'a b' with 'c' in x.py", [edit("x.py", "a b", "c")]),
        ("edit x.py: replace one with two", [edit("x.py", "one", "two")]),
        ('call lookup {"id": 1}', [[PlainRequest("call", {"tool": "lookup", "arguments": '{"id": 1}'})]]),
        ("read a.py and list src; run pwd", [read("a.py") + listing("src") + run("pwd")]),
        ("1. read a.txt\n2. run pwd\n- list src", [read("a.txt") + run("pwd") + listing("src")]),
        ("can you read a.txt, then list src", [read("a.txt"), listing("src")]),
        ("Read a.txt. Then run make. Finally list .", [read("a.txt"), run("make"), listing(".")]),
        (
            "write a.py:\n```python\nprint(1)\n```\nthen run python a.py",
            [write("a.py", "print(1)\n"), run("python a.py")],
        ),
        ("read a.txt, then write b.txt: `x` and list src", [read("a.txt"), write("b.txt", "x") + listing("src")]),
        ("read a.txt and read a.txt", [read("a.txt")]),
        ("run ls then explain", [run("ls")]),
        ("run git log -3, and tell me what changed", [run("git log -3")]),
        ("run ls then explain, then read a.txt", [run("ls"), read("a.txt")]),
        ("run man tell", [run("man tell")]),
        ("run if true; then echo hi; fi", [run("if true; then echo hi; fi")]),
    ],
)
def test_requests_and_what_they_mean(said: str, meant: list[list[PlainRequest]]) -> None:
    assert request_rounds(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Hello there",
        "show me how this works",
        "run the tests",
        "find out why",
        "look at that",
        "what is a list?",
        "?",
    ],
)
def test_talk_is_no_request(said: str) -> None:
    assert request_rounds(said) == []


words = st.sampled_from(
    ["read", "list", "run", "then", "and", "a.py", "`", '"', "write", ":", "\n", ".", "```", "in", "\0"]
)


@given(st.one_of(st.text(), st.lists(words).map(" ".join)))
def test_any_text_is_understood_or_let_be_and_always_alike(said: str) -> None:
    found = request_rounds(said)
    assert found == request_rounds(said)
    assert all(found)
    assert "\0" not in str(found)
