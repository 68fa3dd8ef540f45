"""Answers that were paid for are found again, whatever happened to the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.paths import cache_dir
from workbench.explain.kept_answers import FILE, KeptAnswers, request_digest
from workbench.sources.replay_answers import ReplayAnswer

ANSWER = ReplayAnswer("m", "text", (("read", "{}"),), "stop", 10, 2, 3, 0.1, 0.5, "", 200, -3.5)


def test_an_answer_is_kept_by_what_was_sent_and_by_try() -> None:
    digest = request_digest(("chat", "m", ""), {"messages": ["a"]})
    with KeptAnswers() as kept:
        kept.keep_answer(digest, 1, ANSWER)
    with KeptAnswers() as kept:
        assert kept.load_answer(digest, 1) == ANSWER
        assert kept.load_answer(digest, 0) is None
        assert kept.load_answer(request_digest(("chat", "other", ""), {"messages": ["a"]}), 1) is None


@given(st.binary(max_size=200))
def test_a_broken_file_is_replaced(data: bytes) -> None:
    digest = request_digest((), {})
    path = cache_dir() / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    for each in path.parent.glob(f"{FILE}*"):
        each.unlink()
    path.write_bytes(data)
    with KeptAnswers() as kept:
        assert kept.load_answer(digest, 0) is None
        kept.keep_answer(digest, 0, ANSWER)
        assert kept.load_answer(digest, 0) == ANSWER


def test_what_cannot_be_encoded_is_not_kept_and_no_error() -> None:
    digest = request_digest((), {"text": "\ud800"})
    with KeptAnswers() as kept:
        kept.keep_answer(digest, 0, ANSWER._replace(text="\ud800"))
        assert kept.load_answer(digest, 0) is None


def test_nonsense_in_a_row_counts_as_nothing() -> None:
    with KeptAnswers() as kept:
        assert kept._db is not None
        for number, data in enumerate((b"", b"\xc1", b"\x93\x01\x02\x03")):
            kept._db.execute("INSERT INTO answers VALUES (?, ?, ?)", (b"x", number, data))
            assert kept.load_answer(b"x", number) is None
