"""`workbench mcp serve` and `workbench mcp audit`: for agents, which ask about their own context and its compactions.

`mcp audit` keeps a file for each compaction:

    {"agent", "session", "transcript", "trigger", "at", "earlier", "model", "tokens", "window",
     "items": [{"event", "who", "kind", "tokens", "text"}],
     "compaction": {"at", "summary", "facts_kept", "lost": [{"kind", "text", "event"}], "why"}}

where `at` are milliseconds since 1970, `earlier` is how many compactions the session had before, `items` are what was
in the context, with how each text begins, and `compaction` is null until it was made; `facts_kept` and `lost` are null
where the summary cannot be read, and `why` says so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from workbench.config.distribution import installed_version
from workbench.config.text import printable
from workbench.mcp_server.protocol import McpService, ToolCallRequest
from workbench.mcp_server.tools import INSTRUCTIONS, served_tools

if TYPE_CHECKING:
    from workbench.mcp_server.asked_context import ContextReader
    from workbench.sources.services import Services

MOST_INPUT = 10_000_000
"""Bytes of a hook's input, which may have a summary in it."""


def run_mcp_serve(options: argparse.Namespace) -> int:
    """Answer the messages on standard input until it ends."""
    answers = _Answers(options.session or "")
    service = McpService("workbench", installed_version(), INSTRUCTIONS, served_tools(answers.answer_tool))
    with _protocol_output() as outgoing:
        service.serve_stream(sys.stdin.buffer, outgoing)
    return 0


def run_mcp_audit(options: argparse.Namespace) -> int:
    """Begin or finish the audit of a compaction, as the hook on standard input says.

    An error ends with 1 and not with 2, which would stop the agent's compaction.
    """
    from workbench.config.errors import WorkbenchError, WrongCall
    from workbench.config.paths import data_dir
    from workbench.mcp_server.compaction_audit import answer_hook
    from workbench.sources.services import Services

    try:
        try:
            given = json.loads(sys.stdin.buffer.read(MOST_INPUT))
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise WrongCall("mcp audit: expected the JSON object of a hook on standard input")
        with Services() as services:
            printed = answer_hook(services, given, Path(options.to) if options.to else data_dir() / "audits")
    except WorkbenchError as error:
        print(f"workbench: {printable(str(error))}", file=sys.stderr)
        return 1
    if printed:
        print(printed)
    return 0


@contextmanager
def _protocol_output() -> Iterator[BinaryIO]:
    """Standard output for messages alone: whatever else is printed goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as outgoing:
        os.dup2(2, 1)
        try:
            yield outgoing
        finally:
            outgoing.flush()
            os.dup2(outgoing.fileno(), 1)


class _Answers:
    """Answers calls. Everything that takes long to import is imported with the first one."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def answer_tool(self, name: str, request: ToolCallRequest) -> str:
        from workbench.mcp_server.answering import answer_call

        return answer_call(self._services, self._reader, name, request)

    @cached_property
    def _services(self) -> Services:
        from workbench.sources.services import Services

        return Services()

    @cached_property
    def _reader(self) -> ContextReader:
        from workbench.cli.watch import find_source
        from workbench.config.folders import work_folder
        from workbench.mcp_server.asked_context import ContextReader
        from workbench.mcp_server.asking_agent import OwnSessionFinder, agent_above

        services = self._services
        if self._wanted:
            ref, _ = find_source(services, self._wanted)
        else:
            ref = ""
        finder = OwnSessionFinder(agent_above(), work_folder().path, services.agent_places)
        return ContextReader(services, finder.find_session, ref)
