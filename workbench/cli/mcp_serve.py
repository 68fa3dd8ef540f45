"""`workbench mcp serve`: agents ask about their own context, over the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

from workbench.config.distribution import installed_version
from workbench.mcp_server.protocol import McpService, ToolCallRequest
from workbench.mcp_server.tools import INSTRUCTIONS, served_tools

if TYPE_CHECKING:
    from workbench.mcp_server.asked_context import ContextReader
    from workbench.sources.services import Services


def run_mcp_serve(options: argparse.Namespace) -> int:
    """Answer the messages on standard input until it ends."""
    answers = _Answers(options.session or "")
    service = McpService("workbench", installed_version(), INSTRUCTIONS, served_tools(answers.answer_tool))
    with _protocol_output() as outgoing:
        service.serve_stream(sys.stdin.buffer, outgoing)
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
        """The answer of a tool to a call."""
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
