"""Counting texts that are new, beside bare tiktoken."""

from __future__ import annotations

import random
from collections.abc import Iterator

from bench import material, peers
from bench.harness import Row, Scale, Target, medians, timed

KINDS = ("prose", "code", "json", "cjk")
SHORTEST, LONGEST = 200, 100_000


def pieces(kind: str, total: int) -> list[str]:
    """Texts of one kind, from a line to a large file: many short ones and few long ones, about evenly by characters."""
    rng = random.Random(kind)
    found: list[str] = []
    left = total
    while left > 0:
        size = min(left, round(SHORTEST * (LONGEST / SHORTEST) ** rng.random()))
        found.append(material.text(kind, max(size, SHORTEST), len(found)))
        left -= size
    return found


def run(scale: Scale) -> Iterator[Row]:
    """Each kind of text alone, and all of them."""
    texts = {kind: pieces(kind, scale.mixed // len(KINDS)) for kind in KINDS}
    works = {}
    for kind in KINDS:
        works[f"ours {kind}"] = lambda kind=kind: _ours(texts[kind])
        works[f"peer {kind}"] = lambda kind=kind: timed(lambda: peers.encode_all(texts[kind]))
    found = medians(works, scale.slow_repeats)
    for kind in KINDS:
        megabytes = _megabytes(texts[kind])
        yield _row(f"counting new {kind}", megabytes, found[f"ours {kind}"], found[f"peer {kind}"])
    megabytes = sum(map(_megabytes, texts.values()))
    ours, peer = (sum(found[f"{who} {kind}"] for kind in KINDS) for who in ("ours", "peer"))
    yield _row("counting new text, all kinds", megabytes, ours, peer, at_least=0.9)


def _ours(texts: list[str]) -> float:
    counter = material.fresh_counter()
    return timed(lambda: [counter.count(text) for text in texts])


def _megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def _row(name: str, size: float, ours: float, peer: float, at_least: float | None = None) -> Row:
    """Speeds, and ours as a share of the peer's."""
    target = None if at_least is None else Target("at least", at_least, "ratio")
    return Row(name, size / ours, "MB/s", size / peer, "bare tiktoken", peer / ours, target)
