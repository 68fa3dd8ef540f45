"""The bad day's one command: `uv run python tests/hostile/run.py [--kills N] [--databases N] ... [--seed N]`."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Find the attacks from wherever the command is given, and run them."""
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from hostile.day import main as run_day

    return run_day()


if __name__ == "__main__":
    sys.exit(main())
