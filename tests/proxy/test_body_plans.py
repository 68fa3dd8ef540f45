"""What a policy decides on a request's own contents is a change of its body that can always be made."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bodies import Call, Reply, Said, Talk, talks, written
from workbench.config.settings import Settings
from workbench.config.values import replace
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import DialectName, OwnDialect, ToolCall, ToolResult
from workbench.models.catalogue import Catalogue
from workbench.proxy.body_plans import plan_body
from workbench.wire.dialects import read_request
from workbench.wire.rewriting import Rewrite, items_in, rewritten


def setup(*knobs: str, policy: str = "workbench", window: int | None = None) -> Setup:
    return set_up(PlanOptions(policy, knobs, "gpt-4o", window, 100 if window else None), Settings(), Catalogue())


def lengthened(talk: Talk) -> Talk:
    """A talk whose results, and what was said before the last message, are worth leaving out."""
    made: list[Reply | Said] = []
    for step in talk[:-1]:
        if isinstance(step, Said):
            made.append(replace(step, texts=tuple(text * 20 for text in step.texts)))
        else:
            calls = tuple(replace(call, result=f"{call.result}\n" * 60) for call in step.calls)
            made.append(replace(step, text=step.text * 20, calls=calls))
    return (*made, talk[-1])


@given(
    dialect=st.sampled_from(get_args(OwnDialect)),
    talk=talks().map(lengthened),
    window=st.integers(400, 1_200) | st.none(),
    keep=st.integers(0, 2),
    policy=st.sampled_from(["workbench", "layers", "recorded"]),
)
def test_whatever_a_policy_decides_can_be_sent(
    dialect: DialectName, talk: Talk, window: int | None, keep: int, policy: str
) -> None:
    body = written(dialect, talk)
    knobs = () if policy == "recorded" else ("masking.keep_first=0", f"masking.keep_last={keep}")
    made = rewritten(dialect, body, plan_body(dialect, body, setup(*knobs, policy=policy, window=window)).rewrite())
    read = read_request(dialect, made)
    calls = [each.call_id for each in read if isinstance(each, ToolCall)]
    assert sorted(calls) == sorted(each.call_id for each in read if isinstance(each, ToolResult))
    assert items_in(dialect, made)[-1].text == items_in(dialect, body)[-1].text
    if policy == "recorded" and window is None:
        assert made == body


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_a_long_result_is_cut_where_it_stands(dialect: DialectName) -> None:
    said = (Said(("look",)), Reply("", "", (Call("c", "ls", False, "a line of it\n" * 5_000),)), Said(("go on",)))
    body = written(dialect, said)
    changes = plan_body(dialect, body, setup("truncation.max_tokens=200")).rewrite()
    [(path, text)] = changes.mask.items()
    assert (path, changes.exclude) == (
        next(item.path for item in items_in(dialect, body) if item.kind == "result"),
        frozenset(),
    )
    assert len(text) < 5_000
    made = items_in(dialect, rewritten(dialect, body, changes))
    assert [item.text for item in made if item.kind == "result"] == [text]


def test_nothing_is_decided_where_a_policy_sends_all() -> None:
    body = written("anthropic", (Said(("look", "there")), Reply("hm", "well", ()), Said(("go on",))))
    planned = plan_body("anthropic", body, setup(policy="recorded"))
    assert planned.rewrite() == Rewrite()
    assert {paths for paths in planned.paths.values() if paths} == {
        ("messages.0.0", "messages.0.1"),
        ("messages.1.0",),
        ("messages.1.1",),
        ("messages.2",),
    }


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_the_last_message_and_the_call_it_answers_stay(dialect: DialectName) -> None:
    """The call of the last result is in an earlier message; with another text it would belong to nothing."""
    before, last = Call("c1", "ls", False, "old"), Call("c2", "ls", False, "new")
    body = written(dialect, (Said(("look",)), Reply("", "", (before,)), Reply("", "", (last,))))
    planned = plan_body(dialect, body, setup(policy="recorded"))
    one, other = ([item.path for item in planned.items if item.kind == kind] for kind in ("call", "result"))
    assert planned.stays == {one[1], other[1]}
    assert [planned.can_change(path) for path in (one[0], other[0], one[1], other[1])] == [True, True, False, False]
