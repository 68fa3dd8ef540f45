"""Counts of another tokenizer times a factor: estimates for models whose own tokenizer is not public."""

from __future__ import annotations

from collections.abc import Callable

from workbench.models.families import tokenizer_factor
from workbench.models.tokens import TokenCount, TokenCounter, counter_for


class _Scaled(dict[int, TokenCount]):
    """Counts times a factor, by the count. There are few: texts with as many tokens share one."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor

    def __missing__(self, tokens: int) -> TokenCount:
        found = self[tokens] = TokenCount(round(tokens * self._factor), False)
        return found


class CalibratedCounter(TokenCounter):
    """Another counter's counts, times a factor: an estimate of the provider's own tokenizer."""

    def __init__(self, plain: TokenCounter, factor: float, note: str = "", framing: float = 1.0) -> None:
        super().__init__(plain.name, None, False, f"{plain.note}; x {factor:.2f}{f', {note}' if note else ''}")
        self.plain = plain
        """The counter without the factor."""
        self._factor = factor
        self._scaled = _Scaled(factor)
        self.framing = framing

    def count(self, text: str) -> TokenCount:
        """How many tokens the text has, approximately."""
        return self._scaled[self.plain.count(text).tokens]

    @property
    def quick_count(self) -> Callable[[str], TokenCount]:
        """Counts as `count` does, through fewer functions."""
        plain, scaled = self.plain.quick_count, self._scaled
        return lambda text: scaled[plain(text).tokens]

    def apart(self) -> TokenCounter:
        """A counter with its own memory, without the factor."""
        return self.plain.apart()

    def known_count(self, text: str) -> TokenCount | None:
        found = self.plain.known_count(text)
        return None if found is None else self._scaled[found.tokens]

    def head(self, text: str, max_tokens: int) -> int:
        """How many characters from the start fit."""
        return self.plain.head(text, int(max_tokens / self._factor))

    def tail(self, text: str, max_tokens: int) -> int:
        """The offset from which the rest fits."""
        return self.plain.tail(text, int(max_tokens / self._factor))

    def joined(self, text: str, end: int, middle: str, start: int) -> TokenCount:
        """The count of two ends of a text with something between them."""
        return self._scaled[self.plain.joined(text, end, middle, start).tokens]

    def spans(self, text: str) -> list[str]:
        """The tokens of the tokenizer that is used instead: the model's own are unknown."""
        return self.plain.spans(text)

    def flush(self) -> None:
        """Write the new counts to the store."""
        self.plain.flush()


def calibrated_counter(plain: TokenCounter, factor: float, note: str = "", framing: float = 1.0) -> TokenCounter:
    """A counter whose counts are multiplied; the plain counter if both factors are 1."""
    bare = plain.plain if isinstance(plain, CalibratedCounter) else plain
    return bare if factor == framing == 1 else CalibratedCounter(bare, factor, note, framing)


def estimator_for(model: str) -> TokenCounter:
    """The counter for a model without reports so far: with the factor that was measured for its family."""
    plain = counter_for(model)
    return plain if plain.exact else calibrated_counter(plain, tokenizer_factor(model), "measured for its family")
