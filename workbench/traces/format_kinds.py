"""The kinds of formats, and the registry of all formats: ours, which `formats` registers, and those of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from workbench.config.plugins import PluginRegistry
from workbench.config.tables import shown_value
from workbench.log.shapes import KIND_OF
from workbench.traces.building import Recording
from workbench.traces.reading import Document
from workbench.traces.tables import Tables, TableSession

_BODIES = tuple(KIND_OF)


class Format(NamedTuple):
    """A format of JSON, or of JSON lines."""

    name: str
    recognises: Callable[[Document], bool]
    """Reads the beginning; fast, and true only for what is surely this format."""
    read: Callable[[Document, str], list[Recording]]
    """The conversations of the document; its text is passed with it."""


class TablesFormat(NamedTuple):
    """A format that is a database."""

    name: str
    recognises: Callable[[Tables], bool]
    """By its tables and columns."""
    read: Callable[[Tables], list[TableSession]]
    """Oldest first, so that a session keeps its number."""


class TextFormat(NamedTuple):
    name: str
    beginnings: tuple[str, ...]
    """How its files begin; of others only the beginning is read."""
    recognises: Callable[[str], bool]
    read: Callable[[str, str], list[Recording]]
    """The conversations of a file, by its name and its text."""


AnyFormat = Format | TablesFormat | TextFormat
F = TypeVar("F", Format, TablesFormat, TextFormat)


class KnownFormat(NamedTuple):
    """A format of transcripts, in every form in which its files come."""

    name: str
    forms: tuple[AnyFormat, ...]


def _checked_format(name: str, value: Any) -> KnownFormat:
    forms = tuple(value) if isinstance(value, list | tuple) and not isinstance(value, AnyFormat) else (value,)
    for form in forms:
        if not isinstance(form, AnyFormat) or not callable(form.recognises) or not callable(form.read):
            raise TypeError(f"expected a Format, TablesFormat or TextFormat, got {shown_value(form)}")
        if isinstance(form, TextFormat) and not _are_texts(form.beginnings):
            raise TypeError(f"beginnings: expected a tuple of texts, got {shown_value(form.beginnings)}")
    names = {form.name for form in forms}
    if len(names) != 1 or not isinstance(forms[0].name, str):
        raise ValueError(f"expected forms of one format with one name, got {shown_value(names)}")
    return KnownFormat(forms[0].name, forms)


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(each, str) and each for each in value)


TRANSCRIPTS: PluginRegistry[KnownFormat] = PluginRegistry("formats", _checked_format)


def plugin_formats(kind: type[F]) -> Iterator[F]:
    """The formats of plug-ins that come in one form. They are loaded when the first is asked for."""
    for known in TRANSCRIPTS.plugins().values():
        yield from (form for form in known.forms if isinstance(form, kind))


def recognised(form: AnyFormat, content: Any) -> bool:
    """Whether a format recognises a file. If a plug-in's fails at it, it does not."""
    return TRANSCRIPTS.guarded(form.name, lambda: bool(form.recognises(content)), False)


def read_by(form: Format | TextFormat, first: Any, text: str | bytes) -> list[Recording] | None:
    """The conversations of a file that a format recognised; None if a plug-in's fails at it.

    Bytes are lines of JSON. Our own formats read them from the document; a plug-in may look at the text.
    """
    if form.name in TRANSCRIPTS.own:
        return form.read(first, text if isinstance(text, str) else "")
    whole = text if isinstance(text, str) else text.decode()
    return TRANSCRIPTS.guarded(form.name, lambda: _checked_recordings(form.read(first, whole)), None)


def sessions_by(form: TablesFormat, tables: Tables) -> list[TableSession] | None:
    """The conversations of a database, to be read; None if a plug-in's format fails at it."""

    def guarded_read(session: TableSession) -> Recording:
        one = TRANSCRIPTS.guarded(form.name, lambda: _checked_recordings([session.read()]), [Recording()])
        return one[0]

    if form.name in TRANSCRIPTS.own:
        return form.read(tables)
    stored = TRANSCRIPTS.guarded(form.name, lambda: [TableSession(*each) for each in form.read(tables)], None)
    if stored is None:
        return None
    return [each._replace(read=partial(guarded_read, each)) for each in stored]


def _checked_recordings(found: list[Recording]) -> list[Recording]:
    """Raises TypeError for what a plug-in may return and nothing else can read."""
    if not isinstance(found, list) or not found or not all(isinstance(each, Recording) for each in found):
        raise TypeError(f"read: expected a list of recordings, got {shown_value(found)}")
    strange = next((body for each in found for body in each if not isinstance(body, _BODIES)), None)
    if strange is not None:
        raise TypeError(f"read: expected recordings of events, got {shown_value(strange)}")
    if any(len(each.times) != len(each) for each in found):
        raise TypeError("read: expected one time for each event of a recording; `append_body` appends both")
    return found
