"""Lines of JSON are read as Python's own module reads them, whichever parser comes first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.traces import reading
from workbench.traces.reading import (
    JsonLines,
    are_json_lines,
    passing_values,
    read_json,
    read_transcript_text,
    whole_lines,
)

TEXTS = st.text(st.characters() | st.characters(categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(values=st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), min_size=2, max_size=4), as_ascii=st.booleans())
def test_each_line_is_the_value_that_json_gives(values: list[dict[str, object]], as_ascii: bool) -> None:
    lines = [json.dumps(value, ensure_ascii=as_ascii) for value in values]
    found = read_json("a file", "\n".join(lines))
    assert [repr(each.value) for each in found.values] == [repr(json.loads(line)) for line in lines]


@pytest.mark.parametrize("number", ["1e400", "-0", "1E5", "123456789012345678901234567890"])
def test_numbers_are_those_of_python(number: str) -> None:
    found = read_json("a file", f'{{"a": {number}}}\n{{}}')
    assert repr(found.values[0].value["a"]) == repr(json.loads(number))


@pytest.mark.parametrize("wrong", ["NaN", "-Infinity", "01", "[1,]", '"\t"'])
def test_what_is_no_json_is_refused_with_its_line(wrong: str) -> None:
    with pytest.raises(WrongCall, match="a file: line 2: expected one JSON value on the line"):
        read_json("a file", f'{{}}\n{{"a": {wrong}}}')


@pytest.mark.parametrize("text", ["", "  \n", "\n\t\n"])
def test_lines_without_a_value_are_an_empty_file(text: str) -> None:
    for read in (read_json, JsonLines):
        with pytest.raises(WrongCall, match="a file: line 1: expected JSON, but the file is empty"):
            read("a file", text)


LINES = st.lists(st.sampled_from(['{"a": 1}', "[2]", '"three"', "", " \t", "{broken", '{"b": NaN}']), max_size=120)


@given(lines=LINES, first=st.integers(-50, 130), last=st.none() | st.integers(-50, 130))
def test_lines_are_the_same_whether_all_are_kept_or_none(lines: list[str], first: int, last: int | None) -> None:
    wrong = [line for line in lines if line in ("{broken", '{"b": NaN}')]
    expected = [{}, *(json.loads(line) for line in lines if line.strip() and line not in wrong), {}]
    passed, kept = (read_json("a file", "\n".join(["{}", *lines, "{}"]), skip=True) for _ in range(2))
    assert [*passing_values(passed.values)] == [*passing_values(passed.values)] == expected
    assert [value for _, value in kept.values[first:last]] == expected[first:last]
    assert [*passing_values(kept.values)] == [each.value for each in kept.values] == expected
    assert list(map(str, passed.broken)) == list(map(str, kept.broken))
    assert len(kept.broken) == len(wrong)


WHOLE_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20)


@example(texts=["", ""], broken=['"'], chunk=1)
@given(
    texts=st.lists(WHOLE_TEXTS, min_size=2, max_size=5),
    broken=st.lists(WHOLE_TEXTS, max_size=2),
    chunk=st.sampled_from([1, 2, 3, 1 << 20]),
)
def test_bytes_are_read_like_their_text(texts: list[str], broken: list[str], chunk: int) -> None:
    lines = [*(json.dumps({"a": each}, ensure_ascii=False) for each in texts), *broken, '{"b": 1}']
    raw = "\n".join(lines).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_CHUNK", chunk)
        assert are_json_lines(raw)
        assert not are_json_lines(raw[:-1] + b"\xff}")
        assert not are_json_lines(raw + b"\xe2\x82")
    one, other = (read_json("a file", content, skip=True) for content in (raw, raw.decode()))
    assert [*one.values] == [*other.values]
    assert list(map(str, one.broken)) == list(map(str, other.broken))
    assert [*passing_values(one.values)] == [each.value for each in other.values]


@given(blank=st.text("\t\r \x0b\x1c\x1f\x85\xa0\u2028\u3000", max_size=3))
def test_a_line_of_space_is_passed_over_in_bytes_as_well(blank: str) -> None:
    raw = f'{{"a": 1}}\n{blank}\n{{"b": 2}}\n{blank}'.encode()
    assert are_json_lines(raw)
    read = read_json("a file", raw, skip=True)
    assert [each.value for each in read.values] == [{"a": 1}, {"b": 2}]
    assert not read.broken


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1}',
        b'{"a": 1}\n',
        b'{"a": 1}\n \r\n\t',
        b'{\n"a": 1}',
        b'[\n{"a": 1}]',
        b'{"a": [\n1]}\n{}',
        b'{"a": {}\n}',
        b"# said\n{}",
        b"",
        b"\n{}\n{}",
    ],
)
def test_what_may_be_one_value_is_read_as_text(raw: bytes) -> None:
    assert not are_json_lines(raw)


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        (b'{"a": 1}\n{"b": 2}', b'{"a": 1}\n{"b": 2}'),
        (b'{"a": 1}\n{"b', b'{"a": 1}\n'),
        (b'{\n  "a": 1,\n  "b', b'{\n  "a": 1,\n  "b'),
        (b'\n[\n  {"a": 1},\n  {', b'\n[\n  {"a": 1},\n  {'),
        (b'\xef\xbb\xbf{\n  "a": 1\n}', b'\xef\xbb\xbf{\n  "a": 1\n}'),
        (b"# said\nhalf a li", b"# said\n"),
        (b"half a li", b"half a li"),
    ],
)
def test_an_unfinished_last_line_is_left_out_unless_all_is_one_value(written: bytes, whole: bytes) -> None:
    assert whole_lines(written) == whole


def test_a_file_that_is_not_there_is_told_in_a_few_words(tmp_path: Path) -> None:
    with pytest.raises(WrongCall, match=r"gone\.json: cannot be read: No such file or directory$"):
        read_transcript_text(str(tmp_path / "gone.json"))
