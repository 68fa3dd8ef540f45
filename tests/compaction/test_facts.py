"""Facts: what is found in a conversation, what is not, and that it takes no longer than it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable

import pytest

from support.talk import iterations, planned, preset
from workbench.compaction import fact_phrases, fact_words
from workbench.compaction.facts import (
    ASSISTANT_WEIGHT,
    LEAST_WEIGHT,
    MOST,
    USER_WEIGHT,
    argument_values,
    collect_facts,
    facts_of_text,
)
from workbench.compaction.values import Fact
from workbench.config.values import replace
from workbench.log.events import AssistantMessage, Body, Override, ToolCall, ToolResult, UserMessage


def facts_of(*bodies: Body) -> tuple[Fact, ...]:
    """The facts of a conversation."""
    return collect_facts(planned(bodies, preset("confirm")).items).listed()


def found(kind: str, *bodies: Body) -> list[str]:
    """The facts of one kind, in order."""
    return [fact.text for fact in facts_of(*bodies) if fact.kind == kind]


def said(kind: str, text: str) -> list[str]:
    """The facts of one kind in what a user said."""
    return found(kind, UserMessage(text))


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("path", "look at `src/app.py:12`, then (tests/test_app.py).", ["tests/test_app.py", "src/app.py"]),
        ("path", "open /etc/hosts and ~/notes or ./run.sh", ["./run.sh", "/etc/hosts", "~/notes"]),
        ("path", "README.md and setup.cfg", ["README.md", "setup.cfg"]),
        ("path", "console.log, process.env.HOME, response.json() and this.db", []),
        ("path", "feature/bug/refactor, plan/adr/roadmap", []),
        ("path", "packages/core/theme and release/v2/notes", ["packages/core/theme", "release/v2/notes"]),
        ("path", "+src/new.py", ["src/new.py"]),
        ("error", "showError, setTimeout and result.isError", []),
        ("error", "json.JSONDecodeError or ReadTimeout", ["ReadTimeout", "json.JSONDecodeError"]),
        ("quote", 'press "tab to go on," then "tab to go on".', ["tab to go on"]),
        ("path", "and/or he/she 1/2 01/02/2024 s/def/return/ /def n/a", []),
        ("path", '{"path":"lib/x/y.rs","n":1}', ["lib/x/y.rs"]),
        ("path", "t.Log /system-reminder file%d.go s/a/b/g", []),
        ("path", "the app.py in lib/x/app.py", ["lib/x/app.py"]),
        ("path", "app.py of lib/app.py and src/app.py", ["app.py", "lib/app.py", "src/app.py"]),
        ("url", "import github.com/ann/tool/v5", ["github.com/ann/tool/v5"]),
        ("error", "t.Error require.NoError RunWithError", []),
        ("url", "see https://example.org/a?b=c, and http://x.de/.", ["http://x.de", "https://example.org/a?b=c"]),
        ("identifier", "load_policy and keepUser or TokenCounter", ["TokenCounter", "keepUser", "load_policy"]),
        ("identifier", "os.path.join, main() with --dry-run", ["--dry-run", "main()", "os.path.join"]),
        ("identifier", "MAX_TOKENS __init__ _SetOutput", ["MAX_TOKENS", "_SetOutput", "__init__"]),
        ("identifier", "It is finished.Then we go, e.g. to example.com or www.example.org", []),
        ("identifier", "Plain words, I said. WHY? OK 3rd", []),
        ("error", "ValueError: no; a requests.ReadTimeout", ["ValueError", "requests.ReadTimeout"]),
        ("error", "TS2345 E0308 ENOENT CVE-2024-1234", ["CVE-2024-1234", "E0308", "ENOENT", "TS2345"]),
        ("error", "Error EVERYTHING ERROR", []),
        ("commit", "fixed in 1a2b3c4 (not in 1234567 or deadbeef)", ["1a2b3c4"]),
        ("number", "1,500 MB in 3.5s at 70 %, for $20 on v1.2.3", ["v1.2.3", "1500 MB", "3.5 s", "70 %", "$20"]),
        ("number", "2024-01-02 12:30:10 port 8080, chapter 7 of 9", []),
        ("quote", '"not on Fridays" and „nie wieder“ or `git pull`', ["not on Fridays", "nie wieder", "git pull"]),
        ("todo", "- [ ] write the tests\n- [x] write the code", ["write the tests"]),
        ("todo", "The parser is still TODO: see below.", ["The parser is still TODO: see below."]),
        ("constraint", "Hello there. You must never push to main! Thanks a lot.", ["You must never push to main!"]),
        ("constraint", "Der Name darf nicht fehlen.", ["Der Name darf nicht fehlen."]),
        ("constraint", "Il faut toujours tester.", ["Il faut toujours tester."]),
        ("constraint", "Nunca borres los datos.", ["Nunca borres los datos."]),
        ("constraint", "The housekeeper has a lonely mustang.", []),
    ],
)  # fmt: skip
def test_what_is_found_in_a_text(kind: str, text: str, expected: list[str]) -> None:
    assert said(kind, text) == expected


def test_only_users_set_constraints() -> None:
    assert found("constraint", UserMessage("Hi."), AssistantMessage("You must never do that.")) == []


def test_fenced_code_holds_no_constraints_or_quotations() -> None:
    text = 'Fix it.\n```\nassert "must never happen"\n```\n'
    assert said("constraint", text) == said("quote", text) == []


def test_what_fenced_code_names_is_a_fact() -> None:
    assert said("path", "Fix it.\n```\nopen('src/app.py')\n```\n") == ["src/app.py"]


def test_a_fact_stands_once_under_the_event_where_it_was_first_seen() -> None:
    log: list[Body] = [
        UserMessage("see src/app.py"),
        AssistantMessage("`src/app.py` it is, ./src/app.py"),
        UserMessage("ok"),
    ]
    assert [fact for fact in facts_of(*log) if fact.kind == "path"] == [Fact("src/app.py", "path", "e00001")]


def test_one_mention_in_a_tools_output_is_no_fact_unless_it_is_an_error_or_a_commit() -> None:
    log: list[Body] = [UserMessage("go"), *iterations(["a/b/c.py load_it 12 MB KeyError 1a2b3c4d", "again a/b/c.py"])]
    assert [fact.text for fact in facts_of(*log) if fact.event != "e00001"] == ["a/b/c.py", "KeyError", "1a2b3c4d"]


def test_what_users_say_is_listed_before_what_tools_print() -> None:
    listing = "\n".join(f"src/file{at}.py" for at in range(100))
    log = [*iterations([listing, listing, listing]), UserMessage("mind zz/own.py")]
    paths = found("path", *log)
    assert len(paths) == MOST["path"]
    assert "zz/own.py" in paths


def test_names_of_parameters_are_no_facts() -> None:
    arguments = json.dumps({"file_path": "src/a.py", "new_string": "\n\told_name\n"})
    calls: list[Body] = [ToolCall(f"c{at}", "edit", arguments, f"r{at}") for at in range(3)]
    texts = [fact.text for fact in facts_of(UserMessage("go"), *calls)]
    assert texts == ["src/a.py", "old_name"]


def test_a_folder_that_begins_with_an_n_is_no_new_line() -> None:
    arguments = json.dumps({"path": "C:\\work\\new\\test.py"})
    calls: list[Body] = [ToolCall(f"c{at}", "edit", arguments, f"r{at}") for at in range(3)]
    assert found("path", UserMessage("go"), *calls) == ["test.py"]
    assert argument_values(r'"a\\nb" "\\t" "\n\u00fc\/"') == '"a\\nb" "\\t" "\nü/"'


def test_several_mentions_in_one_item_count_once_with_the_highest_weight() -> None:
    facts = collect_facts(planned([UserMessage("go"), *iterations(["KeyError", "KeyError"])], preset("confirm")).items)
    facts.add_text("KeyError", "e00009", USER_WEIGHT)  # still the last item
    facts.add_text("KeyError", "e00009", ASSISTANT_WEIGHT)
    assert facts.entries["error", "keyerror"].weight == LEAST_WEIGHT + USER_WEIGHT


def test_the_last_todo_list_of_a_tool_is_the_one_that_counts() -> None:
    def todo(*steps: tuple[str, str]) -> str:
        return json.dumps({"todos": [{"content": text, "status": status} for text, status in steps]})

    log: list[Body] = [
        UserMessage("go"),
        ToolCall("a", "TodoWrite", todo(("one thing", "pending"), ("two things", "in_progress")), "r1"),
        ToolResult("a", "ok"),
        ToolCall("b", "TodoWrite", todo(("one thing", "completed"), ("two things", "pending")), "r2"),
        ToolResult("b", "ok"),
    ]
    assert found("todo", *log) == ["two things"]


@pytest.mark.parametrize(
    "arguments", ["not json", "[]", '{"todos": "x"}', '{"todos": [1]}', '{"steps": [{"status": "pending"}]}']
)
def test_a_todo_list_that_cannot_be_read_is_no_list(arguments: str) -> None:
    assert not fact_phrases.listed_todos("todo_write", arguments)


def test_no_kind_has_more_than_its_most() -> None:
    text = " ".join(
        f'name_{at} src/f{at}.py {at + 1} MB Bad{at}Error https://x.de/{at} "quote {at}"' for at in range(99)
    )
    log: list[Body] = [
        UserMessage(text),
        AssistantMessage(text),
        UserMessage("\n".join(f"You must do {at}." for at in range(99))),
    ]
    kinds = [fact.kind for fact in facts_of(*log)]
    assert all(kinds.count(kind) <= most for kind, most in MOST.items())
    assert kinds == sorted(kinds, key=list(MOST).index)


LONG = 1_000_000
HARD = {
    "one letter": "a" * LONG,
    "capitals": "aA" * (LONG // 2),
    "quotes": '"' * LONG,
    "backticks": "`" * LONG,
    "slashes": "/" * LONG,
    "paths": "a/" * (LONG // 2),
    "dots": "a." * (LONG // 2),
    "underscores": "_" * LONG,
    "brackets": "(" * LONG,
    "digits": "1" * LONG,
    "thousands": "1,234," * (LONG // 6),
    "blanks": " " * LONG,
    "lines": "\n" * LONG,
    "stops": ". " * (LONG // 2),
    "boxes": "- [ ] " * (LONG // 6),
    "equals": "a=" * (LONG // 2),
    "fences": "```" * (LONG // 3),
    "marks": "must " * (LONG // 5),
    "colons": ":1" * (LONG // 2),
    "stars": "*** Add File: " * (LONG // 14),
}


def everything(text: str) -> Iterable[object]:
    """All that is looked for, without the bounds that items have."""
    yield list(map(fact_words.facts_in_word, fact_words.split_words(text)))
    yield [
        list(find(text))
        for find in (
            fact_phrases.quoted_texts,
            fact_phrases.numbers_with_units,
            fact_phrases.open_tasks,
            fact_phrases.sentences_in,
        )
    ]
    yield [list(marks.phrases(text)) for marks in (fact_phrases.CONSTRAINTS, fact_phrases.DECISIONS)]
    yield fact_phrases.without_fenced_code(text), fact_phrases.fenced_code(text)


@pytest.mark.parametrize("name", HARD)
def test_a_megabyte_of_one_thing_does_not_take_for_ever(name: str) -> None:
    """A pattern that goes back over what it read would take hours here, not the suite's time limit."""
    assert len(list(everything(HARD[name]))) == 4


def test_the_same_text_gives_the_same_facts_in_every_process() -> None:
    """Sets of text have another order in every process."""
    program = (
        "from workbench.compaction.facts import facts_of_text\n"
        "text = ' '.join(f'name_{at} src/f{at}.py' for at in range(99))\n"
        "print(facts_of_text(text, 'e1'))"
    )
    text = " ".join(f"name_{at} src/f{at}.py" for at in range(99))
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(facts_of_text(text, "e1"))


@pytest.mark.parametrize("state", ["masked", "truncated"])
def test_what_the_program_itself_wrote_is_no_fact(state: str) -> None:
    long = " ".join(f"word{at}" for at in range(900))
    bodies: list[Body] = [UserMessage(f"Keep `src/app.py`. {long}"), ToolCall("c1", "read_file", "{}", "r1")]
    bodies += [
        ToolResult("c1", long, "read_file"),
        AssistantMessage("ok", "r2"),
        UserMessage("on"),
        AssistantMessage("k"),
    ]
    if state == "masked":
        rows = planned([*bodies, Override("mask", 1, 3)], preset("confirm")).items
        assert [row.state for row in rows][:3] == ["masked", "sent", "masked"]
    else:
        policy = replace(preset("workbench"), truncation=replace(preset("workbench").truncation, max_tokens=100))
        rows = planned(bodies, policy).items
        assert [row.state for row in rows][2] == "truncated"
    found_ = collect_facts(rows)
    texts = [entry.fact.text for entry in found_.entries.values()]
    assert not [text for text in texts if "token" in text or text in {row.id for row in rows}]


def test_the_words_around_a_digest_are_no_facts() -> None:
    digest = "Digest of 17 items (e01a_b to e09a_b), made without a model: lines taken from the record.\n"
    assert (
        facts_of_text(f"{digest}(12 more left out)\n[truncated: kept first ~8 of ~83 tokens (head)] [id x_1y]", "e")
        == ()
    )
    assert [fact.text for fact in facts_of_text(f"{digest}131 tests pass in src/app.py", "e")] == [
        "src/app.py",
        "131 tests",
    ]
