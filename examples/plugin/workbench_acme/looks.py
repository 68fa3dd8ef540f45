"""A policy and a theme: TOML files like those of the config folder, or tables with the same keys."""

from __future__ import annotations

from pathlib import Path

POLICY = Path(__file__).with_name("acme.toml")
THEME = Path(__file__).with_name("dusk.toml")
