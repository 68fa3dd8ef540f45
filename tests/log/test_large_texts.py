"""Large texts are stored once, and no text can pass for a reference to one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.log.codec import encode_event
from workbench.log.errors import StoreError
from workbench.log.events import Body, Event, ImagePart, TextPart, ToolCall, Unknown, UserMessage
from workbench.log.large_texts import LARGE, split_large_texts
from workbench.log.store import Store


def rows(store: Store) -> tuple[list[str], list[str]]:
    with store._database.read_transaction() as db:
        lines = [row[0] for row in db.execute("SELECT data FROM events ORDER BY key")]
        texts = [row[0].decode() for row in db.execute("SELECT text FROM texts")]
    return lines, texts


@pytest.mark.parametrize(
    "text",
    [
        "x" * (LARGE + 1),
        "é" * (LARGE // 2 + 1),
        "漢" * (LARGE // 3 + 1),
        '"' * LARGE,
        "\\" * LARGE,
        "\n" * LARGE,
    ],
)
def test_a_large_text_leaves_the_row_and_comes_back(store: Store, text: str) -> None:
    session = store.create([UserMessage(text)])
    (line,), (kept,) = rows(store)
    assert len(line) < 200
    assert len(kept) > len(text)
    assert session.events()[0].body == UserMessage(text)


@pytest.mark.parametrize("text", ["x" * LARGE, "é" * (LARGE // 2), ""])
def test_a_small_text_stays(store: Store, text: str) -> None:
    store.create([UserMessage(text)])
    assert rows(store)[1] == []


def test_a_text_is_stored_once_wherever_it_stands(store: Store) -> None:
    big = "x" * 9000
    bodies: list[Body] = [
        UserMessage(big),
        UserMessage((TextPart(big), ImagePart(big), TextPart("small"))),
        ToolCall("c", "write", big),
        Unknown("dance", {"steps": [{"how": big, big: 1}]}),
    ]
    one, other = store.create(bodies), store.create(bodies)
    assert len(rows(store)[1]) == 1
    assert [event.body for event in one.events()] == [event.body for event in other.events()] == bodies


def test_a_text_that_looks_like_a_reference_is_a_text(store: Store) -> None:
    session = store.create([UserMessage("y" * 9000)])
    (line,), _ = rows(store)
    lookalikes = [line, line[line.index("\x01") :], "\x01" + "0" * 64, "\x01"]
    session.append(*[UserMessage(text) for text in lookalikes])
    assert [event.body for event in session.events(after=1)] == [UserMessage(text) for text in lookalikes]


@given(data=st.data())
def test_small_lines_are_left_alone_and_large_strings_always_leave(
    data: st.DataObject, event: st.SearchStrategy[Event]
) -> None:
    line = encode_event(data.draw(event))
    row, texts = split_large_texts(line)
    assert texts or row == line
    for text in texts.values():
        assert len(text) > LARGE
        assert text.decode() in line


def test_many_escapes_are_split_in_one_go() -> None:
    text = '\\"\n' * 300_000
    row, texts = split_large_texts(encode_event(Event(1, "a", 0, UserMessage(text))))
    assert len(texts) == 1
    assert len(row) < 200


def test_a_missing_text_is_told_in_one_line(store: Store) -> None:
    session = store.create([UserMessage("x" * 9000)])
    with store._database.write_transaction() as db:
        db.execute("DELETE FROM event_texts")
        db.execute("DELETE FROM texts")
    with pytest.raises(StoreError, match=r"damaged: the text .* is missing; `workbench sessions recover`"):
        session.events()
