"""Output of any length takes bounded memory, and says what it left out."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.tools.output import OutputEnds

chunks = st.lists(st.binary(max_size=40), max_size=30)
bounds = st.integers(0, 60)


def filled(pieces: list[bytes], first: int, last: int) -> OutputEnds:
    output = OutputEnds(first, last)
    for piece in pieces:
        output.add_bytes(piece)
        assert output.held <= first + 2 * last + 40
    return output


@given(chunks, bounds, bounds)
def test_beginning_and_end_are_kept_however_it_comes(pieces: list[bytes], first: int, last: int) -> None:
    whole = b"".join(pieces)
    output = filled(pieces, first, last)
    assert output.total == len(whole)
    if len(whole) <= first + last:
        assert output.is_whole
        assert output.data == whole
        assert output.text() == whole.decode(errors="replace")
    else:
        assert not output.is_whole
        assert output.data == whole[:first] + (whole[-last:] if last else b"")
    assert output.text() == filled([whole[at : at + 1] for at in range(len(whole))], first, last).text()


@given(st.text(max_size=200), bounds, bounds)
def test_a_cut_splits_no_character_and_the_marker_tells_the_truth(text: str, first: int, last: int) -> None:
    whole = text.encode()
    output = filled([whole], first, last)
    shown = output.text()
    if output.is_whole:
        assert shown == text
        return
    marker = re.search(r"\[\.\.\. left out (\d+) of (\d+) bytes \.\.\.\]\n", shown)
    assert marker is not None
    assert int(marker[2]) == len(whole)
    tail = shown[marker.end() :]
    kept = len(whole) - int(marker[1])
    head = whole[: kept - len(tail.encode())].decode()
    assert shown[: marker.start()] in (head, head + "\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert kept > first + last - 7
