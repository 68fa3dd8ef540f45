"""Whatever is left out of a request, providers accept the rest."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bodies import Call, Reply, Said, Talk, talks, written
from support.random_cases import few_cases
from workbench.explain.request_units import LEFT_OUT, leaving_out, units_in
from workbench.log.events import DialectName, OwnDialect
from workbench.wire.dialects import DIALECTS
from workbench.wire.rewriting import BodyRewriter, items_in

DIALECT_NAMES = get_args(OwnDialect)


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
@few_cases()
@given(talk=talks(), data=st.data(), grain=st.sampled_from(["items", "groups"]))
def test_a_request_without_any_of_its_units_is_valid(
    dialect: DialectName, talk: Talk, data: st.DataObject, grain: Any
) -> None:
    body = {**written(dialect, talk), "max_tokens": 9}
    units = units_in(dialect, body, words, grain)
    removed = data.draw(st.sets(st.sampled_from(range(len(units)))) if units else st.just(set()))
    rewriter = BodyRewriter(dialect, body)
    rewriter.rewritten_body(leaving_out(units, range(len(units))))  # what was left out before makes no difference
    made = rewriter.rewritten_body(leaving_out(units, removed))
    speaker = DIALECTS[dialect].new_speaker()
    speaker.read_request(made, speaker.paths[0])
    gone = {path for number in removed for path in units[number].paths}
    stays = {item.text for item in items_in(dialect, body) if item.path not in gone and item.kind != "reasoning"}
    left = [item for item in items_in(dialect, made) if item.text != LEFT_OUT]
    assert stays == {item.text for item in left if item.kind != "reasoning"}
    talk_left = [item for item in items_in(dialect, made) if item.path.startswith("messages.")]
    assert next(item for item in talk_left if item.kind != "system").kind == "user"


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
@given(talk=talks())
def test_every_item_is_in_one_unit_or_has_to_stay(dialect: DialectName, talk: Talk) -> None:
    body = written(dialect, talk)
    paths = [path for unit in units_in(dialect, body, words) for path in unit.paths]
    assert len(paths) == len(set(paths))
    grouped = [path for unit in units_in(dialect, body, words, "groups") for path in unit.paths]
    assert sorted(grouped) == sorted(paths)


TALK = (
    Said(("look at it",)),
    Reply("", "I look.", (Call("c1", "ls", False, "a.py b.py c.py"), Call("c2", "cat", False, "one two"))),
    Said(("go on",)),
)


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_call_and_its_result_are_one_unit(dialect: DialectName) -> None:
    units = units_in(dialect, written(dialect, TALK), words)
    assert [(unit.kind, unit.tokens) for unit in units if unit.tool] == [("result", 4), ("result", 3)]
    assert [unit.kind for unit in units if not unit.tool] == ["system", "user", "assistant"]
    grouped = units_in(dialect, written(dialect, TALK), words, "groups")
    assert [unit.tokens for unit in grouped if unit.tool] == [9]


def test_tools_that_were_called_or_are_demanded_stay() -> None:
    body = written("chat", TALK)
    spare = [{"type": "function", "function": {"name": name}} for name in ("spare", "wanted")]
    body |= {"tools": body["tools"] + spare, "tool_choice": {"type": "function", "function": {"name": "wanted"}}}
    units = units_in("chat", body, words)
    assert [unit.title for unit in units if unit.kind == "tool"] == ["spare"]
