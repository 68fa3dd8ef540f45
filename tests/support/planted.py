"""Sessions in which it is known what an answer needed: how many misses does the lab find, and how many are real?

A tool result holds facts of many kinds, long results follow, and a policy masks all but the last one. Then an answer
uses some of the facts: those are the misses. It also uses what no policy can take from it: facts that are still there,
words that every model knows, figures that it works out itself, and prose.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from support.logs import number
from support.talk import iteration, words
from workbench.lab.replay.lab_source import LabSource
from workbench.log.events import AssistantMessage, Body, Setting, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source

MASKED = ("masking.keep_first=0", "masking.keep_last=1", "masking.scope=session", "masking.min_tokens=0")
KNOBS = (*MASKED, "masking.batch_tokens=0", "masking.batch_ratio=0")
_BIRDS = ["heron", "kestrel", "plover", "avocet", "dunlin", "godwit", "osprey", "merlin", "curlew", "bittern"]
_THINGS = ["cache", "broker", "ledger", "gateway", "parser", "router", "index", "queue", "shard", "vault"]
_FIRST = ["Marta", "Anselm", "Ottilie", "Bjarne", "Ludmila", "Teodor", "Ragnhild", "Casimir"]
_LAST = ["Kowalczyk", "Feierabend", "Lindqvist", "Okonkwo", "Brandvold", "Szymanski", "Thorvaldsen"]
_CHINESE = ["青鷺計画", "夜間批次", "庫存服務", "灰鶴部署", "北港倉庫"]
_KOREAN = ["재고서비스", "야간배치", "왜가리계획"]

Maker = Callable[[random.Random], str]


def _pick(*lists: Sequence[str]) -> Callable[[random.Random], list[str]]:
    return lambda rng: [rng.choice(each) for each in lists]


def _joined(sign: str, *lists: Sequence[str]) -> Maker:
    return lambda rng: sign.join(_pick(*lists)(rng))


def _hex(rng: random.Random, many: int) -> str:
    return "".join(rng.choice("0123456789abcdef") for _ in range(many - 2)) + "a7"


KINDS: Mapping[str, Maker] = {
    "path": lambda rng: f"src/{rng.choice(_BIRDS)}/{rng.choice(_THINGS)}.py",
    "absolute path": lambda rng: f"/srv/{rng.choice(_BIRDS)}/{rng.choice(_THINGS)}.toml",
    "file": lambda rng: f"{rng.choice(_BIRDS)}-{rng.choice(_THINGS)}.yaml",
    "address of a page": lambda rng: f"https://{rng.choice(_BIRDS)}.example.org/{rng.choice(_THINGS)}",
    "address of mail": lambda rng: f"{rng.choice(_BIRDS)}@{rng.choice(_THINGS)}.example.org",
    "address of a machine": lambda rng: f"10.{rng.randint(11, 99)}.{rng.randint(11, 99)}.{rng.randint(11, 99)}",
    "snake case": _joined("_", _BIRDS, _THINGS),
    "camel case": lambda rng: rng.choice(_BIRDS) + rng.choice(_THINGS).title(),
    "class": lambda rng: rng.choice(_BIRDS).title() + rng.choice(_THINGS).title(),
    "constant": lambda rng: "_".join(_pick(_BIRDS, _THINGS)(rng)).upper(),
    "dotted name": lambda rng: f"{rng.choice(_BIRDS)}.{rng.choice(_THINGS)}_{rng.choice(_BIRDS)}",
    "error": lambda rng: f"{rng.choice(_BIRDS).title()}MissingError",
    "commit": lambda rng: _hex(rng, 9),
    "uuid": lambda rng: "-".join(_hex(rng, many) for many in (8, 4, 4, 4, 12)),
    "ticket": lambda rng: f"{rng.choice(_THINGS)[:3].upper()}-{rng.randint(100, 9_999)}",
    "order": lambda rng: f"W{rng.randint(1_000_000, 9_999_999)}",
    "port": lambda rng: str(rng.randint(20_001, 64_999) // 2 * 2 + 1),
    "large number": lambda rng: f"{rng.randint(11, 99)},{rng.randint(101, 999)},{rng.randint(101, 999)}",
    "version": lambda rng: f"{rng.randint(2, 9)}.{rng.randint(11, 40)}.{rng.randint(1, 9)}",
    "address in memory": lambda rng: f"0x{_hex(rng, 8)}",
    "kebab case, three words": _joined("-", _BIRDS, _THINGS, _BIRDS),
    "kebab case, two words": _joined("-", _BIRDS, _THINGS),
    "kebab case with a number": lambda rng: f"{rng.choice(_BIRDS)}-{rng.choice(_THINGS)}-{rng.randint(2, 99)}",
    "package with a scope": lambda rng: f"@{rng.choice(_BIRDS)}/{rng.choice(_THINGS)}-core",
    "branch": lambda rng: f"{rng.choice(('feature', 'fix', 'release'))}/{rng.choice(_BIRDS)}-{rng.choice(_THINGS)}",
    "header": lambda rng: f"X-{rng.choice(_BIRDS).title()}-{rng.choice(_THINGS).title()}",
    "signal": lambda rng: rng.choice(("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGWINCH", "SIGQUIT")),
    "name of a person": _joined(" ", _FIRST, _LAST),
    "chinese": lambda rng: rng.choice(_CHINESE),
    "korean": lambda rng: rng.choice(_KOREAN),
    "milliseconds": lambda rng: f"{rng.choice((37, 43, 187, 231, 347, 613))} ms",
    "memory": lambda rng: f"{rng.choice((13, 17, 37, 92, 171, 384))} GB",
    "share": lambda rng: f"{rng.choice((13, 17, 37, 62, 83))}%",
    "quotation": lambda rng: f'"the {rng.choice(_BIRDS)} flies over the {rng.choice(_THINGS)}"',
}
"""What people plant, by kind."""
KNOWN = (
    *("console.log", "fileName", "read-only", "up-to-date", "Content-Type", "README.md", "process.env", "30 seconds"),
    *("UTF-8", "end-to-end", "100%", "__init__", "well-known", "Next Steps", "JSON.stringify", "real-time", "SHA256"),
    *("Promise.all", "Object.keys", "useMemo", "X-Request-Id", "day-to-day", "half-open-interval", "New York"),
    *("case-sensitive", "third-party", "dry-run", "edge-case", "fine-grained", "load-balancer", "open-source"),
)
"""What a model says by itself. It stands in the session as well."""


class PlantedResult(NamedTuple):
    """What the lab found in one session."""

    found: Mapping[str, bool]
    """By kind: whether the miss was found."""
    reported: int
    right: int


def planted_session(seed: int) -> PlantedResult:
    """Replay a made session, and compare its misses with what its answer needed."""
    rng = random.Random(seed)
    kinds = rng.sample(sorted(KINDS), 8)
    facts = {kind: KINDS[kind](rng) for kind in kinds}
    needed, there = kinds[:6], kinds[6:]
    noise = rng.sample(KNOWN, 6)
    held = [f"note: {each} is set here." for each in (*(facts[kind] for kind in needed), *noise)]
    said: list[Body] = [
        Setting("model", "gpt-4o"),
        UserMessage("Go on with it, please, and look at what the next steps are."),
        *iteration("c0", "\n".join(rng.sample(held, len(held)))),
        *(each for at in range(1, 5) for each in iteration(f"c{at}", words(200, f"w{at}"))),
        *iteration("c9", "\n".join(f"here: {facts[kind]} again" for kind in there)),
    ]
    uses = [f"I use {each} now." for each in (*facts.values(), *noise)]
    answer = " ".join(rng.sample(uses, len(uses)))
    said.append(AssistantMessage(f"{answer} That took {rng.randint(4, 9)} steps.", "last"))
    with Services() as services:
        made = LabSource(services, Options(), as_source("made", number(said)))
        misses = [miss.fact.casefold() for miss in made.run_policy("workbench", KNOBS).misses]
    wanted = {kind: _comparable(facts[kind]) for kind in needed}
    found = {kind: any(_matches(miss, text) for miss in misses) for kind, text in wanted.items()}
    right = sum(any(_matches(miss, text) for text in wanted.values()) for miss in misses)
    return PlantedResult(found, len(misses), right)


def _comparable(text: str) -> str:
    return text.strip('"').replace(",", "").casefold()


def _matches(miss: str, text: str) -> bool:
    short = text.replace(" ", "")
    return miss in (text, short) or text in miss or miss in text


def share_interval(pairs: Sequence[tuple[int, int]], seed: int = 1, times: int = 1_000) -> tuple[float, float, float]:
    """A share over sessions, each with its part and its whole, and the range of 95 of 100 samples of sessions."""
    rng = random.Random(seed)

    def share(sample: Sequence[tuple[int, int]]) -> float:
        return sum(part for part, _ in sample) / (sum(whole for _, whole in sample) or 1)

    drawn = sorted(share(rng.choices(pairs, k=len(pairs))) for _ in range(times))
    return share(pairs), drawn[times * 25 // 1_000], drawn[times * 975 // 1_000 - 1]
