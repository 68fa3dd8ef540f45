"""The benchmarks' one command: `uv run python tests/bench/run.py [--quick] [--json FILE] [NAME...]`."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Find the suite from wherever the command is given, and run it."""
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    from bench.suite import main as run_suite

    return run_suite()


if __name__ == "__main__":
    sys.exit(main())
