"""The registry: what is typed is understood, completed or refused in a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.widgets.command import GROUPS, Command, Registry

SLASHES = [slash for command in REGISTRY.commands for slash in command.slashes]


def command(name: str, **more: object) -> Command:
    return Command(name, name, "does it", "view", lambda *_: None, slashes=(name,), **more)  # type: ignore[arg-type]  # fields


def test_every_command_says_what_it_does() -> None:
    for each in REGISTRY.commands:
        assert each.title
        assert each.help
        assert not each.help.endswith(".")
        assert each.group in GROUPS
        assert each.keys or each.letters or each.slashes, f"{each.name} cannot be reached"
    assert [each for _, found in REGISTRY.grouped() for each in found].sort(key=id) == [*REGISTRY.commands].sort(key=id)


def test_the_commands_of_the_seeds_are_there() -> None:
    wanted = (
        "tokens instructions model policy pin mask undo redo fork sessions open export request theme help new rename"
    )
    assert {*wanted.split(), "retry", "quit", "interrupt", "copy", "set"} <= set(SLASHES)


def test_two_commands_with_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two commands"):
        Registry([[command("a"), command("a")]])


@given(st.text())
def test_a_text_is_a_message_or_a_command_or_refused_but_never_lost(text: str) -> None:
    found, refused = None, ""
    try:
        found = REGISTRY.parse(text)
    except WrongCall as error:
        refused = str(error)
    assert not refused or text.strip().startswith("/")
    assert "\n" not in refused
    assert found is None or text.strip()[1:].split()[0] in found[0].slashes


@pytest.mark.parametrize("text", ["/etc/passwd is what?", "/ a", "/", "a /help", "/Help", "/2"])
def test_what_only_begins_like_a_command_is_a_message(text: str) -> None:
    assert REGISTRY.parse(text) is None


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/help", "help", ""),
        ("  /exit ", "quit", ""),
        ("/policy", "policy", ""),
        ("/policy  layers ", "policy", "layers"),
        ("/rename a new\nname", "rename", "a new\nname"),
    ],
)
def test_a_command_is_taken_with_its_argument(text: str, name: str, argument: str) -> None:
    found = REGISTRY.parse(text)
    assert found is not None
    assert (found[0].name, found[1]) == (name, argument)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("/tokns", "/tokns: no such command; did you mean /tokens?"),
        ("/xyzzyx", "/xyzzyx: no such command; /help lists them"),
        ("/help me", "/help: expected nothing behind it, got 'me'"),
    ],
)
def test_a_wrong_command_is_refused_in_a_line(text: str, complaint: str) -> None:
    with pytest.raises(WrongCall) as error:
        REGISTRY.parse(text)
    assert str(error.value) == complaint


def test_an_argument_that_is_needed_is_asked_for() -> None:
    registry = Registry([[command("needs", argument="NAME"), command("may", argument="[NAME]")]])
    with pytest.raises(WrongCall, match=r"^/needs: expected NAME$"):
        registry.parse("/needs")
    found = registry.parse("/may")
    assert found is not None


@given(st.sampled_from(SLASHES), st.integers(0, 20))
def test_the_beginning_of_a_command_is_completed_to_it(slash: str, length: int) -> None:
    offered = REGISTRY.complete(f"/{slash[:length]}")
    assert f"/{slash}" in [each.text.strip() for each in offered] or any(
        slash in each.slashes[1:] for each in REGISTRY.commands
    )
    assert all(each.text.startswith(f"/{slash[:length]}") for each in offered)
    assert all(each.help for each in offered)


def test_arguments_are_completed_too() -> None:
    assert [each.text for each in REGISTRY.complete("/policy lay")] == ["/policy layers"]
    assert "/theme ink" in [each.text for each in REGISTRY.complete("/theme ")]
    assert "/hide chat" in [each.text for each in REGISTRY.complete("/hide c")]
    assert all("keep_last" in each.text for each in REGISTRY.complete("/set keep_last"))
    assert REGISTRY.complete("/model gpt-4o")[0].text.startswith("/model gpt-4o")
    assert REGISTRY.complete("/rename x") == []
    assert REGISTRY.complete("/nothing x") == []


@pytest.mark.parametrize("text", ["", "hello", "hello /help", "/help\nme"])
def test_a_message_is_not_completed(text: str) -> None:
    assert REGISTRY.complete(text) == []
