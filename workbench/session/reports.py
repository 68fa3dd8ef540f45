"""What commands show or export of a session. Functions with an `OpenSession` must be called in the session's thread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from workbench.config.errors import Refused, WrongCall
from workbench.config.text import utf8_json
from workbench.config.writing import replace_file
from workbench.log.codec import encode_event
from workbench.log.events import Event
from workbench.proxy.redaction import Redactor
from workbench.session import figures
from workbench.session.figures import Rows
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source
from workbench.traces.openai_messages import to_openai
from workbench.views.compaction_values import CompactionView
from workbench.views.session_page import make_session_page


def token_figures(opened: OpenSession, view: CompactionView | None) -> Rows:
    """The token figures of the session. `view`: what the compaction panel shows, so that the figures agree."""
    return figures.tokens_report(opened, opened.plan, view)


def logged_events(opened: OpenSession) -> list[Event]:
    """A copy of the current log."""
    return list(opened.events)


def write_export(events: Sequence[Event], path: Path, redactor: Redactor | None = None) -> int:
    """Write a log to a new file that only this user can read. Return its size in bytes.

    A `.json` file gets messages in OpenAI's form, any other file one event per line. `redactor`: masks secrets. Raises
    as `write_new` does.
    """
    if path.suffix == ".json":
        messages = to_openai(events)
        made = messages if redactor is None else redactor.redact_json(messages)
        text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    else:
        lines = map(encode_event, events)
        text = "".join(f"{line}\n" for line in (lines if redactor is None else map(redactor.redact_line, lines)))
    return write_new(path, text)


def current_source(opened: OpenSession) -> Source:
    """The session or file as it is now, to be planned elsewhere."""
    return as_source(opened.name, list(opened.events), is_file=opened.session is None)


def write_page(services: Services, source: Source, path: Path, redact: bool) -> tuple[int, int]:
    """Write a session as a page for a browser, to a new file that only this user can read.

    Return its size in bytes, and how many secrets were masked. Raises as `write_new` does.
    """
    page = make_session_page(services, source, redact=redact)
    return write_new(path, page.html), page.redacted


def write_new(path: Path, text: str) -> int:
    """Write a text to a new file that only this user can read. Return its size in bytes.

    Raises Refused if the file exists, and WrongCall if it cannot be written.
    """
    data = utf8_json(text)
    try:
        if not path.parent.is_dir():
            raise WrongCall(f"{path}: there is no folder {path.parent}")
        replace_file(path, data, new=True)
    except FileExistsError:
        raise Refused(f"{path}: already exists; expected the name of a new file") from None
    except (OSError, ValueError) as error:  # a name may be too long, or have characters that are not allowed
        raise WrongCall(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
    return len(data)
