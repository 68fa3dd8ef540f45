"""Which tokenizer is used for which model, based on the model's name."""

from __future__ import annotations

import re
from functools import lru_cache

from workbench.models.model_names import with_dashes

_O200K = re.compile(r"gpt-4o|gpt-4\.[15]|gpt-5|chatgpt-4o|gpt-oss|gpt-audio|codex|computer-use|o[134](-|$)")
_CL100K = re.compile(r"gpt-4(-|$)|gpt-3\.?5|text-embedding-(ada|3)")
_OLD_CLAUDE = re.compile(r"claude-(2|v?1|v2|instant)(\D|$)")
_FAMILY = re.compile(r"[a-z]+")
_BY_MAKER = (
    ("anthropic", re.compile("claude")),
    ("openai", re.compile(r"gpt-|chatgpt-|codex|o[134](-|$)")),
    ("gemini", re.compile("gemini")),
)
_FACTORS = (
    (re.compile(r"claude-(?:[a-z]+-4-[789]|[a-z]+-4-\d\d(?!\d)|(?!3)[a-z]+-[5-9](?!\d)|(?:fable|mythos))"), 1.35),
    (_OLD_CLAUDE, 1.0),
    (re.compile("claude"), 1.14),
    (re.compile("gemini"), 1.23),
)
"""The ratio of the providers' reports to our counts for large tool results, measured on public transcripts of 2025 and
2026. Models before Claude 3 have the tokenizer that we count with, and OpenAI's count as ours do."""

_EXTRA_FRAMING = ((re.compile("claude"), 5.0),)
"""As a multiple of our framing. Anthropic's models have about 70 tokens around a call and its result, also measured."""

STAND_IN = "o200k_base"
"""Used for every model whose own tokenizer is not available, because it is the closest to most of them."""


def bare_name(model: str) -> str:
    """The model's own name in lower case, without provider prefixes and the mark of a fine-tuned model."""
    name = model.lower().rsplit("/", 1)[-1].removeprefix("ft:")
    # Bedrock writes regions and makers with dots: us.anthropic.claude-..., openai.gpt-oss-...
    return re.sub(r"^(?:[a-z]+\.)+(?=[a-z])", "", name)


def maker_of(model: str) -> str:
    """The provider whose own models have such names; empty if the name does not show it."""
    name = bare_name(model)
    return next((maker for maker, pattern in _BY_MAKER if pattern.match(name)), "")


@lru_cache(maxsize=1024)
def tokenizer_for(model: str) -> tuple[str, bool, str]:
    """The tokenizer's name, whether it is the model's own, and a sentence about it for people."""
    name = bare_name(model)
    if _O200K.match(name):
        return "o200k_base", True, "o200k_base, OpenAI's own"
    if _CL100K.match(name):
        return "cl100k_base", True, "cl100k_base, OpenAI's own"
    if "claude" in name:
        if _OLD_CLAUDE.search(name):
            return "claude", True, "Anthropic's own"
        return "claude", False, "Anthropic's older tokenizer is used instead of Claude's own, which is not public"
    if "gemini" in name:
        return STAND_IN, False, f"{STAND_IN} is used instead of Gemini's own tokenizer, which is not public"
    if name.startswith("gpt-"):
        return (
            STAND_IN,
            False,
            f"{STAND_IN} is used instead of the tokenizer of newer OpenAI models, which is not at hand",
        )
    family = _FAMILY.match(name)
    whose = f"{family.group()}'s own tokenizer" if family else "the model's own tokenizer"
    return STAND_IN, False, f"{STAND_IN} is used instead of {whose}, which is not at hand"


@lru_cache(maxsize=1024)
def tokenizer_factor(model: str) -> float:
    """The factor for our count of a text, for a model of this name; 1 if its family is unknown."""
    name = with_dashes(bare_name(model))
    return next((factor for pattern, factor in _FACTORS if pattern.search(name)), 1.0)


@lru_cache(maxsize=1024)
def extra_framing(model: str) -> float:
    """How much framing a model of this name has in addition to ours, per token of ours."""
    name = bare_name(model)
    return next((more for pattern, more in _EXTRA_FRAMING if pattern.search(name)), 0.0)
