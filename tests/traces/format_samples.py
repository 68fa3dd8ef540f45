"""A small session of every format, and the words that the readers look for."""

from __future__ import annotations

import inspect
import json
import re
import sys
from typing import Any

from workbench.traces import building
from workbench.traces.formats import FORMATS


class JsonLines(list[Any]):
    """The values of a file of JSON lines; any other sample is one value."""

    def __init__(self, *values: Any) -> None:
        super().__init__(values)


SAMPLES: dict[str, list[Any] | dict[str, Any]] = {
    "Kimi Code": JsonLines(
        {"type": "metadata", "protocol_version": "1.5", "created_at": 1},
        {
            "type": "context.append_message",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello"}], "origin": {"kind": "user"}},
        },
    ),
    "Copilot CLI": JsonLines(
        {"type": "session.start", "data": {"sessionId": "s"}, "id": "1", "timestamp": "t", "parentId": None},
        {"type": "user.message", "data": {"content": "hello"}, "id": "2", "timestamp": "t", "parentId": "1"},
    ),
    "Qwen Code": JsonLines(
        {
            "uuid": "u1",
            "parentUuid": None,
            "sessionId": "s",
            "type": "user",
            "message": {"role": "user", "parts": [{"text": "hello"}]},
        },
        {"uuid": "u2", "parentUuid": "u1", "sessionId": "s", "type": "system", "subtype": "x", "systemPayload": {}},
    ),
    "Cursor": [{"role": "user", "message": {"content": [{"type": "text", "text": "hello"}]}}],
    "Droid": JsonLines(
        {"type": "session_start", "id": "s", "title": "", "cwd": "/home"},
        {"type": "message", "id": "1", "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]}},
    ),
    "Windsurf": JsonLines(
        {"type": "user_input", "status": "done", "user_input": {"user_response": "hello"}},
        {"type": "view_file", "status": "done", "view_file": {"path": "x", "content": "y"}},
    ),
    "Grok Build": JsonLines(
        {"type": "user", "content": [{"type": "text", "text": "hello"}], "prompt_index": 0},
        {"type": "tool_result", "tool_call_id": "c", "content": "x"},
    ),
    "goose": JsonLines(
        {"description": "", "working_dir": "/home", "message_count": 1},
        {
            "role": "user",
            "created": 1_754_564_150,
            "content": [{"type": "text", "text": "hello"}],
            "metadata": {"userVisible": True, "agentVisible": True},
        },
    ),
    "Claude Code": JsonLines(
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "hello"}},
    ),
    "Codex": JsonLines(
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}},
        {
            "timestamp": "t",
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        },
    ),
    "pi": JsonLines(
        {"type": "session", "id": "s", "cwd": "/home"},
        {
            "type": "message",
            "timestamp": "t",
            "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        },
    ),
    "SWE-agent": {"history": [{"role": "user", "content": "hello", "agent": "main"}], "info": {}},
    "mini-swe-agent": {
        "info": {"config": {"model": {"model_name": "m"}}},
        "messages": [{"role": "user", "content": "hello"}],
        "trajectory_format": "mini-swe-agent-1.1",
    },
    "opencode": {
        "info": {"id": "s", "slug": "calm-island", "title": ""},
        "messages": [
            {"info": {"id": "m", "sessionID": "s", "role": "user"}, "parts": [{"type": "text", "text": "hello"}]}
        ],
    },
    "Continue": {
        "sessionId": "s",
        "workspaceDirectory": "/home",
        "history": [{"message": {"role": "user", "content": "hello"}, "contextItems": []}],
    },
    "pydantic-ai": [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello"}]}],
    "OpenHands": [{"id": 0, "source": "user", "action": "message", "args": {"content": "hello"}}],
    "ADK": {"id": "s", "events": [{"author": "user", "invocation_id": "i", "content": {"parts": [{"text": "hello"}]}}]},
    "ATIF": {"schema_version": "ATIF-v1.7", "agent": {}, "steps": [{"source": "user", "message": "hello"}]},
    "Inspect": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t"},
        "samples": [{"id": 1, "messages": [{"role": "user", "content": "hello"}]}],
    },
    "tau-bench": [{"task_id": 0, "reward": 0.0, "traj": [{"role": "user", "content": "hello"}]}],
    "tau2-bench": {
        "info": {},
        "simulations": [{"task_id": "0", "messages": [{"role": "user", "content": "hello"}]}],
    },
    "Langfuse": [
        {
            "type": "GENERATION",
            "traceId": "t",
            "startTime": "2025-09-30T09:03:59.962Z",
            "input": [{"role": "user", "content": "hello"}],
        }
    ],
    "LangSmith": [
        {
            "id": "r",
            "run_type": "llm",
            "trace_id": "t",
            "start_time": "2026-01-02T03:04:05",
            "inputs": {"messages": [[{"lc": 1, "id": ["schema", "HumanMessage"], "kwargs": {"content": "hello"}}]]},
        }
    ],
    "OpenTelemetry spans": [
        {
            "name": "chat",
            "context": {"trace_id": "t", "span_id": "s"},
            "attributes": {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hello"}]}]',
            },
        }
    ],
    "Claude managed agents": [
        {"type": "session.status_running", "id": "1", "processed_at": "2026-01-02T03:04:05Z"},
        {"type": "user.message", "id": "2", "content": [{"type": "text", "text": "hello"}]},
    ],
    "Kiro": {
        "conversation_id": "c",
        "history": [{"user": {"content": {"Prompt": {"prompt": "hello"}}}, "assistant": {}}],
    },
    "Hermes": {
        "session_id": "s",
        "platform": "cli",
        "message_count": 1,
        "messages": [{"role": "user", "content": "hello"}],
    },
    "VS Code Copilot": {"version": 3, "requests": [{"message": {"text": "hello"}, "response": []}]},
    "Amp": {
        "v": 3,
        "id": "T-1",
        "messages": [{"role": "user", "messageId": 0, "content": [{"type": "text", "text": "hello"}]}],
    },
    "Roo Code": [{"role": "user", "content": "hello", "ts": 1_783_376_868_634, "condenseParent": "x"}],
    "Cline": {
        "sessionId": "s",
        "messages": [
            {"role": "user", "content": "hello", "ts": 1_783_376_868_634},
            {"role": "assistant", "content": "hi", "ts": 1_783_376_868_635, "modelInfo": {"id": "m"}},
        ],
    },
    "requests and their answers": {
        "request": {"model": "m", "messages": [{"role": "user", "content": "hello"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "hi"}}]},
    },
    "Gemini": [{"role": "user", "parts": [{"text": "hello"}]}],
    "ShareGPT": [{"id": "0", "conversations": [{"from": "human", "value": "hello"}]}],
    "Anthropic": {"system": "be brief", "messages": [{"role": "user", "content": "hello"}]},
    "Gemini CLI": {"sessionId": "s", "messages": [{"type": "user", "content": "hello"}]},
    "OpenAI Responses": [
        {"role": "user", "content": "hello"},
        {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
    ],
}
LINES = [name for name, sample in SAMPLES.items() if isinstance(sample, JsonLines)]


def written(name: str) -> str:
    """A sample as its format has it."""
    sample = SAMPLES[name]
    return "\n".join(map(json.dumps, sample)) if isinstance(sample, JsonLines) else json.dumps(sample, indent=1)


MODULES = [building, *(sys.modules[each.read.__module__] for each in FORMATS)]
WORDS = sorted({word for module in MODULES for word in re.findall(r'"([\w.$-]+)"', inspect.getsource(module))})
"""The keys and kinds that the readers look for."""
