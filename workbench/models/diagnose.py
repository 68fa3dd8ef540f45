"""Turns exceptions into failures. They are recognised by name, status and words, so litellm need not be imported."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from workbench.config.patterns import late_pattern
from workbench.models.answer_streams import ProviderRefusal
from workbench.models.endpoints import Endpoint, redact
from workbench.models.failures import Category, ModelFailure

_N = r"(\d[\d,_]{0,14})(?!\d)"
_GAP = r".{0,300}?"
"""Between two figures of one sentence. Without a limit, every search would scan the whole text again."""
_SIZES = (
    # each: the words, which group is the limit, and which is the request's size
    (rf"maximum context length (?:is|of) {_N}{_GAP}(?:requested(?: about)?|resulted in|request has) {_N}", 1, 2),
    (rf"prompt is too long: {_N} tokens > {_N}", 2, 1),
    (rf"prompt \((?:total )?length {_N}\){_GAP}(?:context length|maximum model length of) {_N}", 2, 1),
    (rf"request \({_N} tokens\) exceeds the available context size \({_N}", 2, 1),
    (rf"input token count \({_N}\) exceeds the maximum number of tokens allowed \({_N}", 2, 1),
    (rf"prompt contains {_N} tokens{_GAP}model with {_N} maximum context", 2, 1),
    (rf"""['"]n_prompt_tokens['"]: ?{_N}, ?['"]n_ctx['"]: ?{_N}""", 2, 1),
    (rf"limit:? {_N},? requested:? {_N}", 1, 2),
    (rf"available context size \({_N}", 1, 0),
    (rf"context (?:length|size|window) (?:is|of)(?: only)? {_N}", 1, 0),
)
_SUM = late_pattern(rf"exceed context limit: {_N} \+ {_N} > {_N}")
"""Anthropic's words if prompt and reserve together are too long."""

_TOO_LONG = late_pattern(
    r"context.?length.?exceeded|exceed_context_size|exceeds the available context size|maximum context length"
    r"|prompt is too long|exceed context limit|longer than the maximum model length|too long to fit into the model"
    r"|input token count .{0,100}? exceeds the maximum|too large for model with|context the overflows"
    r"|input is too long|request too large for"
    r"|exceeds? the (?:model's )?(?:maximum )?context|reduce the length of the messages",
    re.IGNORECASE,
)
_REFUSED = late_pattern(
    r"content.?policy|content.?filter|content management policy|safety system|responsible.?ai|was flagged|moderation",
    re.IGNORECASE,
)
_NO_MONEY = late_pattern(r"insufficient.?(?:quota|credits|balance)|exceeded your current quota|credit balance", re.I)
_NO_KEY = late_pattern(r"missing credentials|api.?key.{0,40}(?:not set|missing|must be set|required|invalid)", re.I)
_NO_PROVIDER = late_pattern(
    r"LLM Provider NOT provided|model_not_found|model .{1,200} (?:does not exist|not found)", re.I
)
_NO_LINE = late_pattern(
    r"connection error|cannot connect|connect call failed|connection refused|name or service not known"
    r"|server disconnected|connection reset|nodename nor servname|temporary failure in name resolution",
    re.IGNORECASE,
)
_WAIT = late_pattern(
    r"(?:try again|retry) (?:in|after) ((?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s)(?:ec\w{0,9})?\s?){1,4})", re.IGNORECASE
)
_DELAY = late_pattern(r"retryDelay\W{1,9}(\d{1,9}(?:\.\d{1,9})?)s")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_WRAPPING = late_pattern(r"^(?:(?:litellm\.)?(?:\w{1,60}(?:Error|Exception)|Timeout(?: Error)?)(?::| -)\s*)+")
"""litellm puts its own class names before the provider's words, several levels deep."""

_BODY = late_pattern(r"^b?(['\"]?)(\{.*\})\1\.?$")
"""A provider's body that litellm passes on unchanged; for Anthropic in the form of Python's bytes."""
_NO_NAME = late_pattern(r"^LLM Provider NOT provided.*?You passed model=(\S+).*$")
_CONNECTOR = late_pattern(r"\s*ssl:(?:<[^<>]{0,200}>|default|True|False)")
"""A Python object in the message of a failed connection."""


def connection_words(error: BaseException) -> str:
    """Why a connection failed, in one line."""
    return _CONNECTOR.sub("", str(error)) or type(error).__name__


_MOST = 16_000
"""Characters of an exception's text that are read. The provider's message comes first."""
_LONGEST = 600
"""Characters of the provider's words that are kept; some send a whole page."""

_BY_STATUS: dict[int, Category] = {
    401: "authentication",
    403: "authentication",
    404: "unknown_model",
    408: "timeout",
    504: "timeout",
}


def diagnose(error: BaseException, endpoint: Endpoint | None = None) -> ModelFailure:
    """The failure for an exception of litellm or a `ProviderRefusal`, with the provider's words and without keys."""
    endpoint = endpoint or Endpoint()
    known_failure = _found(error)
    if known_failure is not None:
        return known_failure
    cause, in_stream = _cause(error)
    words = _words(cause)
    # The body, with codes that the message leaves out, is only in the exception that litellm translated.
    known = f"{words} {str(cause.__context__ or '')[:_MOST]}"
    wait = _wait(cause, known)
    category = _category(cause, known, wait)
    if in_stream and category not in ("context_too_long", "rate_limit", "refused_content"):
        category = "broken_stream"
    limit, asked = sizes_in_error(known) if category == "context_too_long" else (None, None)
    if category not in ("rate_limit", "overloaded"):
        wait = None
    return ModelFailure(category, _shown(words, endpoint), wait=wait, limit=limit, asked=asked)


def sizes_in_error(text: str) -> tuple[int | None, int | None]:
    """The window and the request's size, if a provider's words name them."""
    summed = _SUM.search(text)
    if summed:
        return _number(summed[3]), _number(summed[1]) + _number(summed[2])
    for pattern, limit, asked in _SIZES:
        found = re.search(pattern, text, re.IGNORECASE | re.DOTALL)
        if found:
            return _number(found[limit]), _number(found[asked]) if asked else None
    return None, None


def _found(error: BaseException) -> ModelFailure | None:
    """The failure that we raised ourselves, if an exception was caused by one."""
    seen: set[int] = set()
    left: list[object] = [error]
    while left:
        each = left.pop()
        if isinstance(each, ModelFailure):
            return each
        if isinstance(each, BaseException) and id(each) not in seen:
            seen.add(id(each))
            left += [each.__cause__, each.__context__, getattr(each, "original_exception", None)]
    return None


def _cause(error: BaseException) -> tuple[BaseException, bool]:
    """The exception under litellm's wrapping, and whether the stream had begun."""
    in_stream = isinstance(error, ProviderRefusal) and error.in_stream
    while type(error).__name__ == "MidStreamFallbackError":
        in_stream = True
        inner = getattr(error, "original_exception", None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    return error, in_stream


def _category(error: BaseException, words: str, wait: float | None) -> Category:
    """Decide by the type of the exception, then by its words, then by its status."""
    name, status = type(error).__name__, _status(error)
    if name == "ContextWindowExceededError" or status == 413 or _TOO_LONG.search(words):
        return "context_too_long"
    if name == "ContentPolicyViolationError" or (status in (400, 403, 422) and _REFUSED.search(words)):
        return "refused_content"
    if _NO_MONEY.search(words) and wait is None:
        return "bad_request"  # waiting does not fill an account
    if _NO_KEY.search(words):
        return "authentication"
    if _NO_PROVIDER.search(words):
        return "unknown_model"
    if name == "RateLimitError" or status == 429:
        return "rate_limit"
    if name in ("Timeout", "TimeoutError", "APITimeoutError"):
        return "timeout"
    # A refused connection has no status; litellm gives it 500 and no headers.
    if name == "APIConnectionError" or (status in (500, None) and _NO_LINE.search(words)):
        return "connection"
    if isinstance(status, int):
        return _BY_STATUS.get(status, "overloaded" if status >= 500 else "bad_request")
    return "bad_request"


def _status(error: BaseException) -> int | None:
    """The provider's status, from the exception litellm translated: litellm may change it because of the words."""
    for each in (error.__context__, error):
        for name in ("status_code", "code"):
            value = getattr(each, name, None)
            if isinstance(value, int) and value >= 400:
                return value
    return None


def _words(error: BaseException) -> str:
    """The provider's own words in one line, without litellm's class names and advice before and after them."""
    text = " ".join(str(getattr(error, "message", "") or error)[:_MOST].split())
    text = _WRAPPING.sub("", text)
    text = re.sub(r" ?Handle with `litellm\.\w{1,60}`\.?$", "", text)
    return text or type(error).__name__


def _shown(words: str, endpoint: Endpoint) -> str:
    """The text for people: no key, no markup of a whole page, and a full stop at the end."""
    text = _NO_NAME.sub(r"no provider is known for the model \1", _CONNECTOR.sub("", _message(words)))
    text = redact(text, endpoint)
    if "<html" in text[:200].lower() or text.lower().startswith("<!doctype"):
        title = re.search(r"<title>([^<]{0,200})</title>", text, re.IGNORECASE)
        text = f"the server sent a web page{f': {title[1]}' if title else ''}"
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rstrip() + " ..."
    return text if text.endswith((".", "!", "?")) else text + "."


def _message(words: str) -> str:
    """The message in a JSON body; other words unchanged."""
    found = _BODY.match(words)
    if not found:
        return words
    try:
        body = json.loads(found[2])
    except (ValueError, RecursionError):
        return words
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else error or body.get("message")
    return " ".join(message.split()) if isinstance(message, str) and message.strip() else words


def _wait(error: BaseException, words: str) -> float | None:
    """Seconds the provider asks us to wait: from its headers, otherwise from its words."""
    headers = _headers(error)
    if (thousandths := _decimal(headers.get("retry-after-ms"))) is not None:
        return thousandths / 1000
    after = headers.get("retry-after")
    if after is not None:
        return _decimal(after) if _decimal(after) is not None else _until(after)
    if found := _WAIT.search(words):
        return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", found[1]))
    delay = _DELAY.search(words)
    return float(delay[1]) if delay else None


def _headers(error: BaseException) -> dict[str, str]:
    """The response's headers, which litellm keeps in its own attribute."""
    found: Any = getattr(error, "litellm_response_headers", None)
    if not isinstance(found, Mapping):
        found = getattr(getattr(error, "response", None), "headers", None)
    return {str(name).lower(): str(value) for name, value in found.items()} if isinstance(found, Mapping) else {}


def _until(date: str) -> float | None:
    """The seconds until a date in HTTP's format."""
    from email.utils import parsedate_to_datetime  # late: few answers ask to wait until a date

    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _decimal(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", text) else None


def _number(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))
