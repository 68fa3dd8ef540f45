"""The small project in the recording: a bakery whose invoices are sometimes a penny short."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

SEED = 1042
"""The same orders every time."""
BREADS = (
    ("rye loaf", "3.45"),
    ("white loaf", "2.95"),
    ("seeded roll", "0.85"),
    ("croissant", "1.65"),
    ("cinnamon bun", "2.15"),
    ("baguette", "1.95"),
    ("apple turnover", "2.35"),
)
ORDERS = 260


def create(folder: Path) -> None:
    """Write the project into an empty folder."""
    for name, text in texts():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def texts() -> Iterator[tuple[str, str]]:
    """Every file of the project: its path and its contents."""
    source = files("workbench") / "demo" / "project.toml"
    yield from tomllib.loads(source.read_text(encoding="utf-8")).items()
    yield "data/orders.csv", "order,day,item,quantity,price,discount\n" + "".join(_lines())


def _lines() -> Iterator[str]:
    """The orders of one November. Number 1042 has the bug."""
    chance = random.Random(SEED)
    for number in range(1000, 1000 + ORDERS):
        day = 1 + (number - 1000) * 30 // ORDERS
        bought = [("croissant", 5, "1.65"), ("cinnamon bun", 3, "2.15")] if number == 1042 else []
        while not bought or (number != 1042 and len(bought) < 2 and chance.random() < 0.4):
            item, price = chance.choice(BREADS)
            bought.append((item, chance.randint(1, 12), price))
        discount = 10 if number == 1042 else chance.choice((0, 0, 0, 5, 10))
        for item, quantity, price in bought:
            yield f"{number},2026-11-{day:02d},{item},{quantity},{price},{discount}\n"
