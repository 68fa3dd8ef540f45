"""The Model Context Protocol as a server with tools needs it: JSON-RPC, a message a line.

The package `mcp` can do this too. It is not used here because its import takes ten times as long as the start of the
program, and an agent waits for its servers; tests hold this server against that package's client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct

from workbench.config.errors import WorkbenchError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the protocol, the newest first. They do not differ in what is used here, except that 2025-03-26
allows batches, which are refused."""
VERSION_OF_RPC = "2.0"
MOST_BYTES = 1_000_000
"""The longest message that is read, without the end of its line."""
PARSE_ERROR, BAD_REQUEST, NO_METHOD, BAD_PARAMETERS = -32700, -32600, -32601, -32602


class ToolCallRequest(NamedTuple):
    """What a client asks of a tool."""

    arguments: Mapping[str, Any]
    meta: Mapping[str, Any]
    """What the client says about the call in addition to its arguments: some name their session there."""


class ServedTool(Struct, frozen=True):
    """A tool that a client can call. It changes nothing."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """The JSON schema of its arguments."""
    answer: Callable[[ToolCallRequest], str]
    """Gives the answer as text. A WorkbenchError becomes an answer that says what is wrong."""

    @property
    def listed(self) -> dict[str, Any]:
        """The tool as `tools/list` has it."""
        hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": dict(self.schema),
            "annotations": hints,
        }


class ProtocolError(WorkbenchError):
    """A message that cannot be answered as the client hoped."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class McpService:
    """Answers messages, one after the other."""

    def __init__(self, name: str, version: str, instructions: str, tools: Sequence[ServedTool]) -> None:
        """`instructions`: what a client may tell its model about the tools."""
        self._about = {"serverInfo": {"name": name, "version": version}, "instructions": instructions}
        self._tools = {tool.name: tool for tool in tools}

    def serve_stream(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        """Answer the messages of a stream until it ends."""
        while line := incoming.readline(MOST_BYTES + 1):
            answer: dict[str, Any] | None = None
            if len(line) > MOST_BYTES and not line.endswith(b"\n"):
                while not line.endswith(b"\n") and (line := incoming.readline(MOST_BYTES)):
                    pass  # the rest of this message
                answer = _failed(None, PARSE_ERROR, f"expected a message of at most {MOST_BYTES:,} bytes")
            elif line.strip():
                answer = self.answer_message(line)
            if answer is not None:
                # Escapes only: no character in it can end the line, or be no UTF-8.
                outgoing.write(json.dumps(answer, allow_nan=False).encode() + b"\n")
                outgoing.flush()

    def answer_message(self, line: bytes) -> dict[str, Any] | None:
        """The answer to a message; None if it wants none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _failed(None, PARSE_ERROR, "expected a JSON object in one line")
        if not isinstance(message, dict):
            return _failed(None, BAD_REQUEST, "expected a JSON object")
        if "method" not in message and message.keys() & {"result", "error"}:
            return None  # the answer to something that was never asked
        name, method, parameters = message.get("id"), message.get("method"), message.get("params")
        if "id" in message and (not isinstance(name, str | int) or isinstance(name, bool)):
            return _failed(None, BAD_REQUEST, "id: expected a text or a whole number")
        if message.get("jsonrpc") != VERSION_OF_RPC:
            return _failed(name, BAD_REQUEST, f'jsonrpc: expected "{VERSION_OF_RPC}"')
        if not isinstance(method, str):
            return _failed(name, BAD_REQUEST, "method: expected a text")
        if name is None:
            return None  # a notification
        try:
            if not isinstance(parameters, dict | None):
                raise ProtocolError(BAD_PARAMETERS, "params: expected an object")
            result = self._result(method, parameters or {})
        except ProtocolError as error:
            return _failed(name, error.code, str(error))
        return {"jsonrpc": VERSION_OF_RPC, "id": name, "result": result}

    def _result(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                asked = parameters.get("protocolVersion")
                version = asked if asked in VERSIONS else VERSIONS[0]
                return {"protocolVersion": version, "capabilities": {"tools": {}}, **self._about}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.listed for tool in self._tools.values()]}
            case "tools/call":
                return self._call(parameters)
        raise ProtocolError(NO_METHOD, f"there is no method {method[:80]}")

    def _call(self, parameters: dict[str, Any]) -> dict[str, Any]:
        tool = self._tools.get(str(parameters.get("name")))
        if tool is None:
            raise ProtocolError(BAD_PARAMETERS, f"name: expected one of these tools: {', '.join(self._tools)}")
        arguments, meta = parameters.get("arguments"), parameters.get("_meta")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise ProtocolError(BAD_PARAMETERS, "arguments: expected an object")
        request = ToolCallRequest(arguments, meta if isinstance(meta, dict) else {})
        try:
            return _text_result(tool.answer(request))
        except WorkbenchError as error:
            return _text_result(str(error), is_error=True)
        except OSError as error:
            return _text_result(f"this could not be answered: {error.strerror or error}", is_error=True)
        except Exception as error:  # a file may hold anything, and the agent must not lose its server
            return _text_result(f"this could not be answered: {type(error).__name__}", is_error=True)


def _text_result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _failed(name: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": VERSION_OF_RPC, "id": name, "error": {"code": code, "message": message}}
