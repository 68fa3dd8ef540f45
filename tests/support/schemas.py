"""The schemas of requests, as the providers' own packages have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from workbench.models.engine import import_litellm


def refused_by_openai(body: dict[str, Any]) -> str:
    """What OpenAI's types say is wrong with a request; empty: nothing."""
    return _refused(_openai(), body)


def refused_by_anthropic(body: dict[str, Any], model: str = "claude-sonnet-4-5") -> str:
    """The same for what litellm makes of a request for Claude, by Anthropic's types."""
    import_litellm()
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.llms.anthropic.common_utils import AnthropicError

    translator = AnthropicConfig()
    asked = deepcopy(body)
    given = {key: asked[key] for key in ("tools", "max_tokens") if key in asked}
    options = translator.map_openai_params({"max_tokens": 1, **given}, {}, model, False)
    said = translator.translate_developer_role_to_system_role(asked["messages"])
    try:
        return _refused(_anthropic(), translator.transform_request(model, said, options, {}, {}))
    except AnthropicError as error:
        return str(error)[:500]


@cache
def _openai() -> TypeAdapter[Any]:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return TypeAdapter(CompletionCreateParamsNonStreaming)


@cache
def _anthropic() -> TypeAdapter[Any]:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    return TypeAdapter(MessageCreateParamsNonStreaming)


def _refused(schema: TypeAdapter[Any], body: Mapping[str, Any]) -> str:
    try:
        _look_at_all(schema.validate_python({"model": "m", "stream": False, **body}))
    except ValidationError as error:
        return str(error)[:2_000]
    return ""


def _look_at_all(value: Any) -> None:
    """Their types have `Iterable`, whose elements pydantic looks at when somebody takes them."""
    if isinstance(value, Mapping):
        for each in value.values():
            _look_at_all(each)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for each in value:
            _look_at_all(each)
