"""The formats of transcripts. A file's format is recognised from its content, never from its name."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from workbench.config.errors import WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import read_to_end
from workbench.config.garbage import collector_paused
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.traces import format_names
from workbench.traces.building import Recording
from workbench.traces.format_kinds import (
    TRANSCRIPTS,
    AnyFormat,
    Format,
    TablesFormat,
    TextFormat,
    plugin_formats,
    read_by,
    recognised,
    sessions_by,
)
from workbench.traces.reading import (
    Document,
    are_json_lines,
    bad_file,
    decode_text,
    open_transcript,
    read_json,
    whole_lines,
)
from workbench.traces.tables import MAGIC, Tables, open_tables, tables_of

TALK = (UserMessage, AssistantMessage, Reasoning, ToolCall, ToolResult, SystemMessage, Compaction)
"""The events of a conversation."""


class UnknownFormat(WrongCall):
    """The file is no transcript, or one of an unknown format."""


def _reader(module: str) -> Any:
    """The module that reads a format. It is imported when the first file is tried: most files need few of them."""
    return import_module(f"workbench.traces.{module}")


def _format(name: str, module: str) -> Format:
    return Format(
        name,
        lambda document: _reader(module).recognises(document),
        lambda document, text: _reader(module).read(document, text),
    )


def _tables_format(name: str, module: str) -> TablesFormat:
    return TablesFormat(
        name,
        lambda tables: _reader(module).recognises_tables(tables),
        lambda tables: _reader(module).sessions(tables),
    )


FORMATS = tuple(
    _format(name, module)
    for name, module in (
        (format_names.KIMI, "kimi"),
        (format_names.COPILOT, "copilot"),
        (format_names.QWEN, "qwen"),
        (format_names.CURSOR, "cursor"),
        (format_names.DROID, "droid"),
        (format_names.WINDSURF, "windsurf"),
        (format_names.GROK, "grok"),
        (format_names.GOOSE, "goose"),
        (format_names.CLAUDE_CODE, "claude_code"),
        (format_names.CODEX, "codex"),
        (format_names.PI, "pi"),
        (format_names.SWE_AGENT, "swe_agent"),
        (format_names.MINI_SWE_AGENT, "mini_swe_agent"),
        (format_names.OPENCODE, "opencode"),
        (format_names.CONTINUE_DEV, "continue_dev"),
        (format_names.PYDANTIC_AI, "pydantic_ai"),
        (format_names.OPENHANDS, "openhands"),
        (format_names.ADK, "adk"),
        (format_names.ATIF, "atif"),
        (format_names.INSPECT, "inspect_logs"),
        (format_names.TAU_BENCH, "tau_bench"),
        (format_names.TAU2, "tau2"),
        (format_names.LANGFUSE, "langfuse"),
        (format_names.LANGSMITH, "langsmith"),
        (format_names.SPANS, "spans"),
        (format_names.MANAGED_AGENTS, "managed_agents"),
        (format_names.KIRO, "kiro"),
        (format_names.HERMES, "hermes"),
        (format_names.VSCODE_COPILOT, "vscode_copilot"),
        (format_names.AMP, "amp"),
        (format_names.ROO, "roo"),
        (format_names.CLINE, "cline"),
        (format_names.REQUEST_LOGS, "request_logs"),
        (format_names.GEMINI_CONTENTS, "gemini"),
        (format_names.SHAREGPT, "sharegpt"),
        (format_names.ANTHROPIC_MESSAGES, "anthropic"),
        (format_names.GEMINI_CLI, "gemini_cli"),
        (format_names.OPENAI_RESPONSES, "responses"),
    )
)
"""Those of other agents. OpenAI-style messages come last: their keys are the least specific."""
DATABASES = tuple(
    _tables_format(name, module)
    for name, module in (
        (format_names.OPENCODE, "opencode"),
        (format_names.OPENAI_AGENTS, "openai_agents"),
        (format_names.LLM, "llm"),
        (format_names.KIRO, "kiro"),
        (format_names.CRUSH, "crush"),
        (format_names.GOOSE, "goose"),
    )
)
"""Those that are SQLite files."""
AIDER = TextFormat(
    format_names.AIDER,
    ("# aider chat started",),
    lambda text: _reader("aider").recognises(text),
    lambda name, text: _reader("aider").read(name, text),
)
_OWN: tuple[AnyFormat, ...] = (*FORMATS, *DATABASES, AIDER)
for _name, _forms in groupby(sorted(_OWN, key=attrgetter("name")), attrgetter("name")):
    TRANSCRIPTS.register(_name, tuple(_forms))
FileContent = str | bytes | Tables
"""The content of a file; bytes: lines of JSON in UTF-8."""
_MARKDOWN = re.compile(r"^(?:#{1,6} |```|[*-] |> )", re.MULTILINE)
_JSON = ("{", "[")
_ZIP = b"PK\x03\x04"
"""How a zip archive begins: Inspect writes its logs as such."""
_SHOWN = 5
"""Unknown kinds that are named in a refusal."""
_HEAD = 64 * 1024
"""Bytes that show whether a file may be a transcript."""
NAMES = tuple(dict.fromkeys([*(each.name for each in FORMATS), *(each.name for each in DATABASES), AIDER.name]))
"""The names of all formats of other agents."""
KNOWN = f"OpenAI-style messages, Workbench's own events, {', '.join(NAMES)}"


def read_file(source: str, *, growing: bool = False) -> tuple[str, FileContent]:
    """The display name and the content of a file that may be a transcript; `-` is standard input.

    `growing`: ignore an unfinished last line.
    """
    with open_transcript(source) as (name, file):
        head = file.read(_HEAD)
        if head.startswith(MAGIC) and source != "-":
            return name, open_tables(name, Path(source))
        if not begins_as_transcript(head):  # so that nothing endless is read before it is refused
            if b"\0" in head:
                raise _refused(name, "binary data")
            return name, decode_text(name, head, is_whole=len(head) < _HEAD)
        limit = largest_file()
        raw = read_to_end(file, limit, head)
        text = _reader("inspect_logs").text_of_archive(raw, limit) if head.startswith(_ZIP) else ""
    if head.startswith(MAGIC):
        return name, tables_of(name, raw)
    if text:
        return name, text
    if b"\0" in raw:
        raise _refused(name, "binary data")
    if growing:
        raw = whole_lines(raw)
    raw = raw.removeprefix(BOM_UTF8)
    return name, raw if are_json_lines(raw) else decode_text(name, raw)


def begins_as_transcript(head: bytes) -> bool:
    """Whether the first bytes of a file may be those of a transcript in any of the formats."""
    text = head.decode("utf-8-sig", "replace").lstrip()
    if head.startswith((MAGIC, _ZIP)) or text.startswith((*_JSON, *AIDER.beginnings)):
        return True
    return any(text.startswith(form.beginnings) for form in plugin_formats(TextFormat))


def json_formats() -> Iterator[Format]:
    """The formats of JSON, ours first. Those of plug-ins are loaded only if somebody gets that far."""
    return chain(FORMATS, plugin_formats(Format))


def read_conversations(name: str, content: FileContent, only: int = 0, path: str = "") -> list[Recording]:
    """The conversations of a file in any of the formats; `only`: of a database, this one whole, the others by title.

    `path`: the path of the file, to read files that belong to it, such as sub-agents', as well.
    """
    with collector_paused():
        return _conversations(name, content, only, path)


def _conversations(name: str, content: FileContent, only: int, path: str) -> list[Recording]:
    if isinstance(content, Tables):
        return _of_database(content, only)
    if isinstance(content, bytes):
        return _of_json(name, content, path)
    if AIDER.recognises(content):
        return _named(AIDER.read(name, content), AIDER.name)
    if not content.lstrip().startswith(_JSON):
        found = _of_plugin_text(name, content)
        if found is not None:
            return found
        if _MARKDOWN.search(content):
            raise _refused(name, "Markdown, but not aider's history")
    return _of_json(name, content, path)


def _of_plugin_text(name: str, content: str) -> list[Recording] | None:
    for form in plugin_formats(TextFormat):
        if content.lstrip().startswith(form.beginnings) and recognised(form, content):
            found = read_by(form, name, content)
            if found is None:
                raise _unreadable(name, form)
            return _named(found, form.name)
    return None


def _of_database(database: Tables, only: int) -> list[Recording]:
    forms = chain(DATABASES, plugin_formats(TablesFormat))
    known = next((each for each in forms if recognised(each, database)), None)
    if known is None:
        raise _refused(database.name, database.described())
    stored = sessions_by(known, database)
    if stored is None:
        raise _unreadable(database.name, known)
    if not stored:
        raise WrongCall(f"{database.name}: found {database.described()}, but no conversation in it")
    found = []
    for number, each in enumerate(stored, 1):
        found.append(each.read() if only in (0, number) else Recording())
        found[-1].title = each.title
    if not is_understood(found):
        raise _refused(database.name, f"{database.described()} and a session that is not understood")
    return _named(found, known.name)


def _of_json(name: str, text: str | bytes, path: str) -> list[Recording]:
    document = read_json(name, text, skip=True)._replace(path=path)
    refusal: UnknownFormat | None = None
    try:
        for known in json_formats():
            if recognised(known, document):
                found = read_by(known, document, text)
                if found is None:
                    refusal = refusal or _unreadable(name, known)
                    continue
                if is_understood(found):
                    return _named(found, known.name)
                refusal = refusal or _too_strange(document, known.name, found)
        if document.broken:
            raise document.broken[0]
        openai = _reader("openai")
        if openai.recognises(document):
            found = openai.openai_conversations(document, text if isinstance(text, str) else "")
            return _named(found, "OpenAI-style messages")
    except RecursionError:
        raise bad_file(name, document.values[0].line, "JSON that is not nested hundreds of levels deep") from None
    raise refusal or _fits_none(document)


def _too_strange(document: Document, format_name: str, found: list[Recording]) -> UnknownFormat | None:
    """Why a file of a known format is refused: how many of its entries are unknown, and of which kinds."""
    kinds = sum((each.strange for each in found), Counter[str]())
    if not kinds:
        return None
    entries = len(document.values) if document.lines else _talk(found) + kinds.total()
    named = ", ".join(repr(kind[:40]) for kind in list(kinds)[:_SHOWN])
    more = ", ..." if len(kinds) > _SHOWN else ""
    unknown = f"{kinds.total():,} of {entries:,} entries are unknown: {named}{more}"
    return UnknownFormat(f"{document.name}: {format_name}, but {unknown}")


def _named(found: list[Recording], name: str) -> list[Recording]:
    for each in found:
        each.format = name
    own = [each for each in found if not each.sub_agent]
    if len(own) == 1:
        own[0].sub_agents = {str(at): each.sub_agent for at, each in enumerate(found, 1) if each.sub_agent}
    return found


def is_understood(found: list[Recording]) -> bool:
    """Whether at least nine tenths of what looks like messages was read; otherwise the format is another one."""
    strange = sum(each.strange.total() for each in found)
    talk = _talk(found) if strange else 0
    return strange <= (max(1, talk // 9) if talk else 0)


def _talk(found: list[Recording]) -> int:
    return sum(isinstance(body, TALK) for each in found for body in each)


def _fits_none(document: Document) -> UnknownFormat:
    line, value = document.values[0]
    return _refused(f"{document.name}: line {line}", _found(value))


def _refused(where: str, found: str) -> UnknownFormat:
    known = ", ".join([KNOWN, *TRANSCRIPTS.plugins()])
    return UnknownFormat(f"{where}: found {found}, which is no transcript of a known format: {known}")


def _unreadable(where: str, form: AnyFormat) -> UnknownFormat:
    return UnknownFormat(f"{where}: {form.name}, but its plug-in cannot read it; `workbench plugins` says why")


def _found(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(key[:30]) for key in list(value)[:5])
        return f"an object with {keys}{', ...' if len(value) > 5 else ''}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list that begins with {_found(value[0])}" if value else "an empty list"
    return {str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
