"""The filter line: what it means, and what it says about what it does not understand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import texts
from tui.inspector.sample import SAMPLE, item
from workbench.config.errors import WrongCall
from workbench.tui.inspector.filters import help_on, parse_filter


def found(text: str) -> list[int | None]:
    wanted = parse_filter(text)
    return [row.seq for row in SAMPLE if wanted.holds(row)]


@pytest.mark.parametrize(
    ("text", "seqs"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("state:masked", [7]),
        ("state:masked,truncated", [6, 7]),
        ("state:m", [7]),
        ("-state:sent", [4, 6, 7, 8]),
        ("tool:run_command", [7]),
        ("tool:READ", [2, 5, 6]),
        ("role:user", [3, 8, 10]),
        ("slot:turn", [10]),
        ("kind:tool_call", [5]),
        ("kind:tool_", [2, 5, 6, 7]),
        ("turn:2", [10]),
        ("turn:2-", [10]),
        ("turn:0-1", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("pinned:", [3]),
        ("pinned:no state:truncated", [6]),
        (">50", [1, 6, 7, 8]),
        ("sent>50", [1, 6]),
        (">=100", [1, 6, 7, 8]),
        ("sent>100", [6]),
        ("SENT<=12 state:masked", [7]),
        ("<12 state:sent", [2, 3, 5, 9, 10]),
        (">0.8k", []),
        (">1k", [6, 7]),
        ("<=1k >100", [8]),
        ("sent<1k >1k", [6, 7]),
        ("state:aside", [4]),
        ('state:"not sent"', [4]),
        ("state:not-sent", [4]),
        ("state:not", [4]),
        ('-state:"not sent",sent', [6, 7, 8]),
        ("SQLITE3", [6]),
        ('"login test"', [3]),
        ('"Login test"', []),
        ('-"login test" role:user', [8, 10]),
        ("tool:read_file >100 import", [6]),
        ("run_command", [7]),
        ('""', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ],
)
def test_what_is_found(text: str, seqs: list[int]) -> None:
    assert found(text) == seqs


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("state:maskd", "state:maskd: expected one of sent, truncated, masked"),
        ("state:", "state:: expected one of sent"),
        ("stat:masked", "no such key: stat: expected one of state: tool:"),
        ("http://x", "text with a colon: in"),
        ("turn:three", "turn:three: expected a number or a range"),
        (">many", ">many: expected a number of tokens, as in >2000, >2k or sent>2000"),
        ("<", "<: expected a number of tokens"),
        ("pinned:maybe", "pinned:maybe: expected nothing, yes or no"),
        ("tool:", "tool: expected a name, as in tool:run_command"),
        ("role:", "role: expected a name, as in role:user"),
        ('say "hello', 'a closing " is missing'),
    ],
)
def test_what_is_not_understood_is_told(text: str, complaint: str) -> None:
    with pytest.raises(WrongCall) as told:
        parse_filter(text)
    assert complaint in str(told.value)
    assert "\n" not in str(told.value)


@given(st.text(max_size=40))
def test_any_line_is_understood_or_refused(text: str) -> None:
    try:
        wanted = parse_filter(text)
    except WrongCall:
        return
    for row in SAMPLE:
        wanted.holds(row)


@given(texts(), texts())
def test_a_word_is_found_in_any_case(before: str, after: str) -> None:
    assert parse_filter("NeedLE").holds(item(1, f"{before} needle {after}"))


def test_a_filter_without_terms_is_none() -> None:
    assert not parse_filter("  ")
    assert parse_filter("a")


@given(st.sampled_from(["<", ">", ">=", "turn:", "turn:1-"]), st.integers(0, 6_000), st.sampled_from(["", "k"]))
def test_no_number_is_too_long_to_be_read(sign: str, digits: int, thousands: str) -> None:
    thousands = "" if "turn" in sign else thousands
    assert parse_filter(f"{sign}1{'0' * digits}{thousands}").tests


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "state: tool: role:"),
        ("role:user ", "state: tool: role:"),
        ("state:", 'state: sent, truncated, masked, summarised, dropped, excluded, "not sent"'),
        ("role:user -turn:", "turn: a number or a range"),
        (">", "of the original, sent>2000 as it is sent"),
        ("state:m", ""),
        ("word", ""),
    ],
)
def test_the_line_has_help_for_what_one_types(text: str, said: str) -> None:
    assert said in help_on(text)
    assert bool(help_on(text)) == bool(said)


def test_only_who_asks_for_what_is_never_sent_looks_through_it() -> None:
    asked = {text: parse_filter(text).all for text in ("state:aside", "-state:aside", "kind:aside", "usage")}
    assert asked == {"state:aside": True, "-state:aside": False, "kind:aside": True, "usage": False}
