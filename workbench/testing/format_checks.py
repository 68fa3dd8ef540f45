"""Holds a format of transcripts against what every reader has to do with files from outside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

from workbench.config.errors import WorkbenchError
from workbench.config.foreign_files import read_small_text
from workbench.context.policy_names import PRESETS
from workbench.library.messages import GivenHead
from workbench.library.plans import numbered
from workbench.library.rendering import GivenMessages, render_in
from workbench.library.setups import setup_for_call
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import Event
from workbench.testing.cases import expect_kept, pair_problems, random_conversation
from workbench.traces.building import Recording
from workbench.traces.formats import TALK
from workbench.traces.reading import Document, read_json
from workbench.wire.dialects import DEFAULT

_CUTS: Final = 12
"""At how many places a sample is cut off."""
_ENTRIES: Final = 20
"""How many entries of a sample are changed."""
_WRONG: Final[tuple[Any, ...]] = (None, 7, "text", [], {}, True)


class TranscriptFormat(Protocol):
    """A reader of files, as `traces/formats.Format` is one."""

    @property
    def name(self) -> str:
        """Its name for people."""

    @property
    def recognises(self) -> Any:
        """Takes a document and says whether it is of this format."""

    @property
    def read(self) -> Any:
        """Takes a document and its text and gives the conversations."""


def check_format(format: TranscriptFormat, samples: Sequence[str | os.PathLike[str]]) -> None:  # noqa: A002
    """Read sample files of a format, whole, cut off and broken.

    `samples`: texts, or paths of files. Promised: a sample is recognised, and other people's files are not. Reading
    gives the same conversation each time, whose events can be stored and planned under every policy. A file that is cut
    off or broken raises WorkbenchError at most.
    """
    expect_kept(format.name.strip() == format.name != "", "a format has a name", repr(format.name))
    expect_kept(samples, "there is a sample", format.name)
    for text in _others():
        expect_kept(not _recognised(format, text), "other people's files are not recognised", format.name, text[:80])
    for number, sample in enumerate(samples, 1):
        case = f"{format.name}, sample {number}"
        text = read_small_text(sample) if isinstance(sample, os.PathLike) else str(sample)
        expect_kept(_recognised(format, text), "a sample is recognised", case)
        found = _read(format, text)
        expect_kept(any(isinstance(body, TALK) for each in found for body in each), "a sample has a conversation", case)
        expect_kept(
            [list(each) for each in _read(format, text)] == [list(each) for each in found],
            "reading is repeatable",
            case,
        )
        for each in found:
            _check_log(numbered(each), case)
        for broken in (*_cut(text), *_changed(text)):
            _check_broken(format, broken, case)


def _document(text: str) -> Document:
    return read_json("sample", text, skip=True)


def _recognised(format: TranscriptFormat, text: str) -> bool:  # noqa: A002
    return bool(format.recognises(_document(text)))


def _read(format: TranscriptFormat, text: str) -> list[Recording]:  # noqa: A002
    return list(format.read(_document(text), text))


def _others() -> Iterator[str]:
    """Conversations that are nobody's own format: those of the providers, and JSON that is something else."""
    yield json.dumps(random_conversation(1))
    yield json.dumps({"name": "package", "version": "1.0.0", "dependencies": {}})
    yield json.dumps([1, 2, 3])
    yield "\n".join(json.dumps({"level": "info", "message": f"line {at}"}) for at in range(3))


def _check_log(events: list[Event], case: str) -> None:
    for event in events:
        stored = decode_event(encode_event(event))
        expect_kept(stored == event, "an event is the same after it was stored", case, event)
    for policy in PRESETS:
        setup = setup_for_call(policy, "gpt-4o", 16_000)
        made = setup.plan(events)
        if made.verdict.fits:
            body = render_in(DEFAULT, made, GivenMessages(), False, GivenHead())
            expect_kept(
                not pair_problems(body["messages"]),
                f"{policy} plans valid requests",
                case,
                pair_problems(body["messages"]),
            )


def _cut(text: str) -> Iterator[str]:
    """The text cut off at several places, as while a program writes it."""
    for part in range(1, _CUTS):
        yield text[: len(text) * part // _CUTS]


def _changed(text: str) -> Iterator[str]:
    """The text with single values of its first entries replaced by something else."""
    try:
        whole = json.loads(text)
    except ValueError:
        entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        yield from ("\n".join(map(json.dumps, changed)) for changed in _with_wrong_values(entries))
        return
    if isinstance(whole, list):
        yield from map(json.dumps, _with_wrong_values(whole))
    else:
        yield from (json.dumps(changed[0]) for changed in _with_wrong_values([whole]))


def _with_wrong_values(entries: list[Any]) -> Iterator[list[Any]]:
    for at, entry in enumerate(entries[:_ENTRIES]):
        for key in entry if isinstance(entry, dict) else ():
            for wrong in _WRONG:
                yield [*entries[:at], {**entry, key: wrong}, *entries[at + 1 :]]


def _check_broken(format: TranscriptFormat, text: str, case: str) -> None:  # noqa: A002
    try:
        document = _document(text)
    except WorkbenchError:
        return  # it never comes to the reader
    try:
        if format.recognises(document):
            list(format.read(document, text))
    except WorkbenchError:
        return
    except Exception as error:
        expect_kept(False, "a broken file raises WorkbenchError at most", case, f"{error!r}, for {text[:200]!r}")
