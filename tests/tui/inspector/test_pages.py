"""The pages of the detail tell what an item was, what is sent of it, what was cut, and why."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from support.logs import texts
from support.talk import words
from tui.inspector.host import BODIES, Model
from tui.inspector.sample import SAMPLE, item
from workbench.context.items import Item
from workbench.log.codec import decode_event
from workbench.log.events import AssistantMessage, Compaction, Override, Revert, UserMessage
from workbench.tui.inspector.pages import (
    TABS,
    TOKENS_FROM,
    ItemFacts,
    first_tab,
    item_page,
    item_title,
    page_weight,
    state_and_size,
)
from workbench.tui.widgets.text_view import TextLine, TextPage, text_matches, text_page, wrap_page

MODEL = Model()
SHOWN = MODEL.shown()


def said(page: TextPage) -> str:
    return "\n".join(line.text for line in page.lines)


def row(seq: int) -> Item:
    return next(each for each in SHOWN.plan.items if each.seq == seq)


def test_a_cut_row_shows_what_was_cut() -> None:
    cut = row(9)
    assert (cut.state, first_tab(cut)) == ("truncated", "diff")
    page = item_page(cut, "diff", SHOWN.queries)
    text = said(page)
    assert text.startswith("over the cap of 600 tokens; kept the beginning and the end: 553 of 7,281 tokens\n"), (
        "why comes first"
    )
    assert text.split("\n", 1)[1].startswith("  … 12 unchanged lines …\n    13  def test_login_13(client")
    assert "\n-   16  def test_login_16(client" in text
    assert "\n+ [truncated: kept first+last" in text
    assert page.copy.startswith("  16  def test_login_16"), "what is copied is what was cut"
    assert {line.style for line in page.lines} == {"text", "quiet", "removed", "added", "why"}


def test_a_masked_row_shows_what_the_marker_hides() -> None:
    masked = row(12)
    text = said(item_page(masked, "diff", SHOWN.queries))
    assert text.startswith(
        "tool result 2 of 6 (not counting summarised ones): "
        "masking.keep_first and keep_last keep the first 1 and the last 2"
    )
    assert text.split("\n", 1)[1].startswith("- FAILED tests/test_login.py::test_login_7\n")
    assert "\n+ [result masked — ~220 tokens removed" in text


def test_what_is_sent_as_it_is_says_so() -> None:
    assert first_tab(row(4)) == "original"
    assert "nothing was cut" in said(item_page(row(4), "diff", SHOWN.queries))
    assert said(item_page(row(4), "sent", SHOWN.queries)) == "Why does [/b] the ␛[31mlogin␛[0m test fail?"


def test_what_is_not_sent_says_so_and_why() -> None:
    assert said(item_page(SAMPLE[7], "sent", None)) == (
        "It is not sent.\nhistory needs 9,000 tokens and 5,000 are left for it"
    )
    assert said(item_page(SAMPLE[7], "diff", None)) == (
        "It is not sent.\nhistory needs 9,000 tokens and 5,000 are left for it\n- An old question about something else"
    )
    assert "not part of the request" in said(item_page(SAMPLE[3], "sent", None))


def test_the_tokens_are_shown_one_by_one() -> None:
    page = item_page(item(1, words(50)), "tokens", SHOWN.queries)
    assert page.lines[0].text == "50 tokens, as sent"
    assert len(page.lines[1].spans) == 50
    assert {style for _, style in page.lines[1].spans} == {"token-0", "token-1", "token-2", "token-3"}
    assert page.note == ""


def test_where_the_row_has_another_count_the_tokens_say_why() -> None:
    learnt = item(1, words(50))._replace(exact=False, tokens=49)
    page = item_page(learnt, "tokens", SHOWN.queries)
    assert page.lines[0].text == (
        "50 tokens, as sent, by our tokenizer; in the request about 49, as the provider's reports have taught"
    )


def test_the_tokens_of_a_huge_text_are_bounded_and_it_says_so() -> None:
    text = words(200_000)
    page = item_page(item(1, text), "tokens", SHOWN.queries)
    assert f"{TOKENS_FROM:,} of {len(text):,} characters" in page.note
    assert page.lines[0].text.startswith("the first 3,334 tokens")
    assert sum(len(line.text) for line in page.lines) < 2 * TOKENS_FROM
    assert page_weight(item(1, text), "tokens") == 0, "nobody waits for it"


@given(texts())
def test_the_tokens_joined_are_the_text(text: str) -> None:
    page = item_page(item(1, text), "tokens", SHOWN.queries)
    if text:
        joined, whole = (
            re.sub("[⏎\u200d�]", "", "".join(line.text for line in lines))  # a token may end with half an emoji
            for lines in (page.lines[1:], text_page(text).lines)
        )
        assert joined == whole or "\t" in text


def test_nobody_to_ask_is_no_mistake() -> None:
    assert "not available here" in said(item_page(row(4), "tokens", None))
    assert "there is no event behind it" in said(item_page(row(4), "json", None))
    assert said(item_page(item(1, ""), "tokens", SHOWN.queries)) == "(empty)"


def test_the_edits_are_told_with_their_reasons() -> None:
    text = said(item_page(row(12), "edits", SHOWN.queries))
    assert text.startswith("m masked: 14 of 220 tokens\n\nid     e00012\nturn   1\nslot   history\ncall   call2")
    assert "mask: 220 → 14 tokens, masked\n  tool result 2 of 6" in text
    assert "No stage changed it." in said(item_page(row(4), "edits", None))
    assert "name   ann" in said(item_page(item(1, name="ann"), "edits", None))


def test_the_json_is_the_event_itself() -> None:
    page = item_page(row(9), "json", SHOWN.queries)
    assert decode_event(json.loads(page.copy)) == MODEL.events[8]
    assert "made this row" in said(item_page(item(1)._replace(seq=None), "json", SHOWN.queries))


@pytest.mark.parametrize(
    ("given_item", "words_"),
    [
        (SAMPLE[5], "tool result · read_file · event 6"),
        (SAMPLE[2], "message · user · event 3"),
        (item(1)._replace(seq=None), "message · user · added by the policy"),
        (item(1, name="ann"), "message · user “ann” · event 1"),
        (item(1, role=None, kind="aside"), "aside · event 1"),
    ],
)
def test_a_title_says_what_it_is(given_item: Item, words_: str) -> None:
    assert item_title(given_item) == words_


def test_sizes_are_told_as_they_are() -> None:
    assert state_and_size(SAMPLE[5]) == "t truncated: 800 of 5,213 tokens"
    assert state_and_size(SAMPLE[2]) == "sent, pinned: 10 tokens"
    assert state_and_size(SAMPLE[1]) == "sent: 10 tokens (approximate)"


@given(texts(), texts(), st.sampled_from([tab.key for tab in TABS]), st.integers(2, 120))
def test_no_line_is_too_wide_or_acts_on_the_terminal(text: str, original: str, tab: str, width: int) -> None:
    page = item_page(item(1, text, original=original, tool=text), tab, SHOWN.queries)
    wrapped = wrap_page(page.lines, width)
    for number, start, end in zip(wrapped.line, wrapped.start, wrapped.end, strict=True):
        piece = page.lines[number].text[start:end]
        assert cell_len(piece) <= width
        assert piece.isprintable() or "\u200d" in piece


@given(texts(), st.sampled_from(["original", "sent", "diff"]))
def test_a_beginning_is_never_longer_than_asked(text: str, tab: str) -> None:
    some = item(1, text[: len(text) // 2], original=text)
    page = item_page(some, tab, None, 50)
    assert sum(len(line.text.expandtabs(4)) for line in page.lines) <= 50 * 3 * 4 + 200


def test_nothing_is_wrapped_to_no_width() -> None:
    assert len(wrap_page(text_page("abc").lines, 0).line) == 0


def test_matches_are_found_in_any_case_and_do_not_overlap() -> None:
    assert text_matches(text_page("aAaA\nb\nAA").lines, "aa") == [(0, 0), (0, 2), (2, 0)]


def test_characters_that_grow_in_lower_case_shift_no_match() -> None:
    printed = "".join(map(chr, [*range(32, 127), *range(160, 0xD800), *range(0xE000, 0x110000)])) + " ERROR"
    assert text_matches([TextLine(printed)], "error") == [(0, len(printed) - 5)]
    assert text_matches([TextLine("İİİ error in İzmir")], "izmir") == [(0, 13)]


def test_a_summarised_item_says_which_requests_had_it_and_which_compaction_took_it_out() -> None:
    first = Compaction(4, 19, "The login test failed.")
    again = Compaction(4, 26, "It was mended.")
    bodies = [*BODIES, first, UserMessage("And now?"), AssistantMessage("Done.", "reply9"), again]
    model = Model(bodies)
    marks = model.requests.marks
    shown = model.shown()
    result = next(each for each in shown.plan.items if each.seq == 12)
    number = len(BODIES) + 1
    had = [at for at, mark in enumerate(marks, 1) if 12 <= mark.upto < number]
    assert shown.queries is not None
    about = ItemFacts(since=shown.queries.since(12, "summarised"))
    told = said(item_page(result, "diff", shown.queries, about=about))
    assert f"summarised by compaction #{len(bodies)}" in told
    twice = f"summarised first by compaction #{number}, then again with its summary by #{len(bodies)}: "
    assert f"{twice}sent in requests {had[0]} to 8, gone from request 9" in told
    undone = Model([*bodies, Revert(len(bodies)), Revert(number), again]).shown()
    assert undone.queries is not None
    assert undone.queries.since(12, "summarised").endswith("gone from the next request")
    pinned = Model([*bodies, Override("pin", 12, 12)]).shown()
    assert pinned.queries is not None
    assert pinned.queries.since(12, "summarised") == ""


def test_the_edits_say_what_the_share_is_a_share_of() -> None:
    text = said(item_page(item(1, tokens=25), "edits", None, about=ItemFacts(request=2_000)))
    assert "share  1.2 % of the request's 2,000 tokens" in text


@pytest.mark.parametrize("tab", ["diff", "edits"])
def test_a_page_says_since_when_it_is_so(tab: str) -> None:
    assert "masked since request 14" in said(
        item_page(row(12), tab, None, about=ItemFacts(since="masked since request 14"))
    )
