"""Finds out who sent a request, in which session, and for what purpose, from the request itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, NamedTuple

from workbench.log.events import Purpose
from workbench.proxy.routes import Route
from workbench.traces import format_names
from workbench.traces.llm_calls import LlmCall
from workbench.traces.request_thread import Exchange
from workbench.wire.own_words import own_texts
from workbench.wire.values import dict_in, is_models, list_in, text_in

_AGENTS: Final = (
    ("claude-cli", format_names.CLAUDE_CODE),
    ("codex", format_names.CODEX),
    ("geminicli", format_names.GEMINI_CLI),
    ("qwencode", format_names.QWEN),
    ("opencode", format_names.OPENCODE),
    ("kimi", format_names.KIMI),
    ("copilot", format_names.COPILOT),
    ("pi-coding-agent", format_names.PI),
    ("pi/", format_names.PI),
)
"""Agents by a text with which their user agent begins, or which it contains."""
_SESSIONS: Final = (
    *("x-claude-code-session-id", "session-id", "session_id", "x-session-id", "x-session-affinity"),
    "x-client-session-id",  # Copilot CLI with a login
)
_AGENT_IDS: Final = ("x-claude-code-agent-id", "x-openai-subagent")
_PARENTS: Final = ("x-codex-parent-thread-id", "x-parent-session-id")
_CODEX_TURN: Final = "x-codex-turn-metadata"
"""Codex's facts about a turn, as JSON: in a header, or in the body on a websocket."""
STORED: Final = frozenset(
    (
        *(
            "user-agent",
            "originator",
            "x-app",
            "anthropic-version",
            "anthropic-beta",
            "openai-beta",
            "content-encoding",
        ),
        *_SESSIONS,
        *_AGENT_IDS,
        *_PARENTS,
        *("thread-id", "x-codex-window-id", "x-stainless-retry-count", "x-client-request-id"),
        *("request-id", "x-request-id", "retry-after", "openai-model", "openai-processing-ms", "server"),
    )
)
"""Headers of requests and answers that are stored, in addition to those about rate limits."""
_TELLING: Final = ("content-type", _CODEX_TURN)
"""Headers that are needed to read an exchange, but are not stored with it."""
_LIMITS: Final = re.compile(r"(?:x|anthropic)-ratelimit-[\w-]+")
_COMPACTION: Final = re.compile(
    r"create a (?:detailed|concise|comprehensive)[\w, ]* summary of (?:the|our|this) conversation"
    r"|CONTEXT CHECKPOINT COMPACTION"
    r"|structured context checkpoint summary"
    r"|<state_snapshot>"
    r"|detailed prompt for continuing our conversation"
    r"|summari[sz]\w+ (?:internal chat history|conversations?\b)",
    re.IGNORECASE,
)
"""Phrases by which agents ask for a summary of their session."""
_SIDE: Final = (
    ("title", re.compile(r"\btitles?\b", re.IGNORECASE)),
    ("routing", re.compile(r"\b(?:task router|routing|complexity)\b", re.IGNORECASE)),
    ("topic", re.compile(r"\b(?:new|conversation) topic\b", re.IGNORECASE)),
    ("suggestion", re.compile(r"\bsuggest\w*\b.{0,60}\b(?:next|prompt|type)\b", re.IGNORECASE)),
)
"""Side requests of agents, recognised by words in their prompts; such requests have no tools."""
_PROMPTS: Final = 200
"""The number of prompts with cached results: most requests have the same prompt as the one before."""
_LOOKED_AT: Final = 4_000
"""Characters of a prompt that are searched."""
_FOLDER: Final = re.compile(
    r"(?:working (?:in the )?directory|workspace directories|<cwd>|\bcwd\b)(?: is)?[^\w<]{0,8}?(/[^\n<>\"'`]+)",
    re.IGNORECASE,
)
_BEGINNING: Final = 8
"""Messages of a request that are searched for the folder."""


class Sender(NamedTuple):
    """Who sent a request, and for what."""

    client: str
    """The agent; empty if unknown."""
    session: str = ""
    agent: str = ""
    parent: str = ""
    purpose: Purpose | None = None
    """None: it depends on the conversation that the request continues."""
    name: str = ""
    """The purpose in one word, if it is not the conversation itself."""


def sender_of(exchange: Exchange, route: Route, headers: Mapping[str, str]) -> Sender:
    """Find out who sent a request."""
    lower = {name.lower(): value for name, value in headers.items()}
    if _is_for_title(exchange.body, lower):
        return Sender(_client(lower), purpose="side", name="title")
    session = _first(lower, _SESSIONS) or _in_body(exchange.body)
    agent = _first(lower, _AGENT_IDS)
    parent = _first(lower, _PARENTS) or (session if agent else "")
    purpose, name = _purpose(exchange, route)
    if purpose is None and (agent or parent):
        purpose = "sub-agent"
    return Sender(_client(lower), session, agent, parent, purpose, name)


def traced_sender(client: str, call: LlmCall) -> Sender:
    """Who made a call that was traced."""
    if call.sub_agent:
        session, _, agent = call.group.rpartition("/")
        return Sender(client, session, agent, session, "sub-agent", call.sub_agent)
    return Sender(client, "" if call.may_join else call.group)


def stored_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers to store: only informative ones, never a key or a cookie."""
    found = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in sorted(found.items()) if _is_stored(name)}


def recorded_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are needed to record an exchange later, never a key or a cookie."""
    return {low: value for name, value in headers.items() if (low := _telling_name(name))}


@lru_cache(1000)
def _telling_name(name: str) -> str:
    """The name in lower case; empty for a header that is not needed."""
    low = name.lower()
    return low if low in _TELLING or _is_stored(low) else ""


def _is_stored(name: str) -> bool:
    return name in STORED or _LIMITS.fullmatch(name) is not None


def folder_of(exchange: Exchange) -> str:
    """The agent's folder, from its prompt; empty if the prompt does not name it."""
    begin = (text for message in exchange.talk[:_BEGINNING] for text in _texts(message))
    for text in (*_texts(exchange.system), *begin):
        found = _FOLDER.search(text)
        if found:
            return found[1].strip().rstrip(".")
    return ""


def users_words(exchange: Exchange) -> str:
    """The user's last words, without what the client adds; empty if there are none."""
    for message in reversed(exchange.talk):
        texts = [] if is_models(message) or text_in(message, "role") not in ("user", "") else list(_texts(message))
        own = own_texts(texts)
        if own:
            return own[-1]
    return ""


def texts_of(message: Any) -> str:
    return "\n".join(_texts(message))


def _client(headers: Mapping[str, str]) -> str:
    agent = f"{headers.get('user-agent', '')} {headers.get('originator', '')}".lower()
    return next((name for begin, name in _AGENTS if begin in agent), "")


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def _in_body(body: Mapping[str, Any]) -> str:
    """The session that a body names: in Claude Code's user id, or as the cache key."""
    user = text_in(dict_in(body, "metadata"), "user_id")
    if user.startswith("{"):
        try:
            return text_in(json.loads(user), "session_id")
        except ValueError:
            return ""
    return user.partition("_session_")[2] or text_in(body, "prompt_cache_key")


def _is_for_title(body: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether it is Codex's request for a title.

    Codex makes titles in a separate thread, which has tools and does not name the thread that the title is for.
    """
    metadata = text_in(dict_in(body, "client_metadata"), _CODEX_TURN) or headers.get(_CODEX_TURN, "")
    return '"thread_source":"thread_title"' in metadata.replace(" ", "")


def _purpose(exchange: Exchange, route: Route) -> tuple[Purpose | None, str]:
    if route.name == "counting":
        return "side", route.name
    if route.name == "compaction":
        return "compaction", ""
    if exchange.body.get("generate") is False:
        return "side", "warming up"
    last = "\n".join(f"{text[-_LOOKED_AT:]}\n{text[:_LOOKED_AT]}" for text in _asked_last(exchange))
    system = "\n".join(_texts([exchange.system, *_leading_instructions(exchange)]))[:_LOOKED_AT]
    if _COMPACTION.search(last) or (not exchange.parts.tools and _asks_for_summary(system)):
        return "compaction", ""
    if not exchange.parts.tools:
        name = _side_of_prompt(system) if system else _side_in(last)
        if name:
            return "side", name
    return None, ""


@lru_cache(_PROMPTS)
def _asks_for_summary(prompt: str) -> bool:
    return _COMPACTION.search(prompt) is not None


@lru_cache(_PROMPTS)
def _side_of_prompt(prompt: str) -> str:
    return _side_in(prompt)


def _side_in(text: str) -> str:
    return next((name for name, words in _SIDE if words.search(text)), "")


def _leading_instructions(exchange: Exchange) -> Iterator[Any]:
    """The items at the beginning that a Responses request may have in place of a system prompt."""
    return takewhile(lambda message: text_in(message, "role") in ("system", "developer"), exchange.talk)


def _asked_last(exchange: Exchange) -> Iterator[str]:
    """The last text of a request, and the one before a reminder of the client; without tool results."""
    talk = exchange.talk
    last = next((each for each in reversed(talk) if text_in(each, "role") not in ("system", "developer")), None)
    for message in (*talk[-1:], *([] if last is None or last is talk[-1] else [last])):
        if text_in(message, "role") == "tool" or text_in(message, "type").endswith("_output"):
            continue
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            yield from _texts([part for part in content if text_in(part, "type") != "tool_result"])
        else:
            yield from _texts(message)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a system prompt, a message or its parts, in any dialect."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value["text"]
        for key in ("content", "parts", "output"):
            if key in value:
                yield from _texts(value[key] if isinstance(value[key], str) else list_in(value, key))
