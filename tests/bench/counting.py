"""Counting texts that are new, beside bare tiktoken."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from bench import material, peers
from bench.harness import Rounds, Row, Scale, Target, Work, rounds, timed

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
    """Each kind of text alone, and all of them together."""
    texts = {kind: pieces(kind, scale.mixed // len(KINDS)) for kind in KINDS}
    texts["text, all kinds"] = [text for kind in KINDS for text in texts[kind]]
    works: dict[str, Work] = {}
    for name, given in texts.items():
        works[f"ours {name}"] = partial(_ours, given)
        works[f"peer {name}"] = partial(timed, partial(peers.encode_all, given))
    found = rounds(works, scale.slow_repeats, warm_up=False)
    for name, given in texts.items():
        yield found.until_sure(partial(_speed, name, given, found))


def _speed(name: str, texts: list[str], found: Rounds) -> Row:
    """How fast ours is, as a multiple of the peer."""
    ours, peer = f"ours {name}", f"peer {name}"
    size = sum(len(text.encode()) for text in texts) / 1e6
    target = None if name in KINDS else Target("at least", 0.9)
    ratio, middle = found.ratio(peer, ours), found.middle(peer, ours)
    our_speed, peer_speed, moved = size / found[ours], size / found[peer], found.moved(peer)
    return Row(
        f"counting new {name}", our_speed, "MB/s", peer_speed, "bare tiktoken", ratio, target, moved, middle, found.few
    )


def _ours(texts: list[str]) -> float:
    counter = material.fresh_counter()
    return timed(lambda: [counter.count(text) for text in texts])
