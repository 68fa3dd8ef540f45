"""A breakpoint holds what it names and nothing else."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bodies import Call, Reply, Said, written
from workbench.config.errors import WrongCall
from workbench.log.events import DialectName, OwnDialect
from workbench.proxy.breakpoints import (
    FORMS,
    BreakRule,
    PassingRequest,
    first_held,
    item_name,
    new_items,
    parse_rule,
    why_held,
)
from workbench.wire.rewriting import BodyItem, items_in

WORD = st.text("abcdefgh XYZ", min_size=1, max_size=8).filter(str.strip)
TOOLS = st.sampled_from(["Bash", "Read", "mcp__a__b", ""])
ITEM = st.builds(
    BodyItem,
    st.sampled_from(["messages.0", "messages.1.2", "system"]),
    st.sampled_from(["system", "tool", "user", "assistant", "reasoning", "call", "result", "other"]),
    WORD,
    TOOLS,
    st.just(""),
    st.booleans(),
    st.sampled_from(["c1", "c2", ""]),
)
REQUEST = st.builds(
    PassingRequest,
    st.lists(ITEM, max_size=8),
    st.lists(st.sampled_from(["Claude Code", "pi", "sub-agent"]), max_size=2),
    st.integers(0, 200_000),
    st.sampled_from([0, 1000, 200_000]),
    st.sampled_from(["", "HTTP 529"]),
)
RULE = st.one_of(
    st.sampled_from([BreakRule("every"), BreakRule("error")]),
    st.builds(BreakRule, st.just("tokens"), st.just(""), st.integers(0, 200_000)),
    st.builds(BreakRule, st.just("share"), st.just(""), st.integers(0, 99).map(lambda n: n / 100)),
    st.builds(BreakRule, st.just("tool"), st.sampled_from(["bash", "Read", "mcp__*"])),
    st.builds(BreakRule, st.sampled_from(["text", "agent"]), WORD.map(lambda text: " ".join(text.split()))),
)


def names(rule: BreakRule, request: PassingRequest) -> bool:
    """What each form promises, said once more in the plainest way."""
    talk = [item for item in request.new if item.kind not in ("system", "tool")]
    match rule.kind:
        case "every":
            return True
        case "tokens":
            return request.tokens > rule.limit
        case "share":
            return bool(request.window) and request.tokens / request.window > rule.limit
        case "tool" if rule.value.endswith("*"):
            return any(item.tool.lower().startswith(rule.value[:-1].lower()) for item in talk)
        case "tool":
            return any(item.tool.lower() == rule.value.lower() for item in talk)
        case "text":
            return any(rule.value.lower() in " ".join(item.text.lower().split()) for item in talk)
        case "agent":
            return any(rule.value.lower() in name.lower() for name in request.agents)
        case "error":
            return bool(request.refused) or any(item.is_error for item in talk)


@given(st.lists(RULE, max_size=4), REQUEST)
def test_it_always_holds_what_a_rule_names_and_never_what_none_does(
    rules: list[BreakRule], request: PassingRequest
) -> None:
    found = first_held(rules, request)
    assert (found is not None) == any(names(rule, request) for rule in rules)
    if found is not None:
        assert names(found[0], request)
        assert found[1]


@given(RULE)
def test_a_rule_reads_as_it_is_written(rule: BreakRule) -> None:
    assert str(parse_rule(str(rule))) == str(rule)


@given(st.integers(0, 10**9))
def test_a_limit_in_thousands_is_that_number_of_tokens(tokens: int) -> None:
    rule = parse_rule(f"tokens>{tokens // 1000}.{tokens % 1000:03}k")
    assert (str(rule), rule.limit) == (f"tokens>{tokens}", tokens)


def test_every_form_that_is_told_can_be_read() -> None:
    assert [str(parse_rule(form)) for form in FORMS] == list(FORMS)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" Every ", "every"),
        ("tokens > 50,000", "tokens>50000"),
        ("tokens>50k", "tokens>50000"),
        ("tokens>2.010K", "tokens>2010"),
        ("share>0.5", "share>50%"),
        ("share>80", "share>80%"),
        ("share>0.1%", "share>0.1%"),
        ("tool: Bash", "tool:Bash"),
        ("text:two  words", "text:two words"),
    ],
)
def test_a_rule_may_be_written_loosely(text: str, rule: str) -> None:
    assert str(parse_rule(text)) == rule


@pytest.mark.parametrize(
    "text",
    [
        *("", "sometimes", "tool:", "tokens>", "tokens>x", "tokens>80%", "tokens>1.5", "tokens>2.0101k"),
        *("tokens>" + "9" * 400, "share>120%", "share>100", "share>100%", "share>5k", "share>" + "9" * 400),
    ],
)
def test_what_is_no_rule_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(WrongCall, match="expected"):
        parse_rule(text)


@given(st.lists(ITEM, max_size=8), st.lists(ITEM, max_size=4))
def test_what_was_there_before_is_never_new(before: list[BodyItem], more: list[BodyItem]) -> None:
    found = new_items([*before, *more], [item_name(item) for item in before])
    assert sorted(map(item_name, found)) == sorted(map(item_name, more))


def item(kind: Any, text: str, **more: Any) -> BodyItem:
    return BodyItem(text, kind, text, **more)


def test_of_a_request_without_one_before_the_last_answer_and_what_follows_is_new() -> None:
    items = [item("user", "a"), item("assistant", "b"), item("user", "c"), item("call", "d"), item("result", "e")]
    assert [each.text for each in new_items(items, None)] == ["d", "e"]
    assert [each.text for each in new_items(items[:1], None)] == ["a"]


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_what_follows_a_call_that_the_agent_left_out_is_not_new(dialect: DialectName) -> None:
    calls = [Reply("", "", (Call(f"c{at}", "ls", False, f"result {at}"),)) for at in range(3)]
    before = items_in(dialect, written(dialect, (Said(("look",)), *calls)))
    now = items_in(dialect, written(dialect, (Said(("look",)), *calls[1:], Said(("go on",)))))
    assert [each.text for each in new_items(now, [item_name(each) for each in before])] == ["go on"]


def test_a_share_just_over_the_limit_is_not_said_to_be_the_limit() -> None:
    rule = parse_rule("share>80%")
    assert why_held(rule, PassingRequest([], tokens=160_001, window=200_000)) == (
        "160,001 of 200,000 tokens are more than 80 %"
    )
    assert not why_held(rule, PassingRequest([], tokens=160_000, window=200_000))


def test_a_definition_of_a_tool_is_no_call_of_it() -> None:
    request = PassingRequest([item("tool", "Bash runs a command", tool="Bash")])
    assert not why_held(parse_rule("tool:Bash"), request)
    assert not why_held(parse_rule("text:runs a command"), request)
