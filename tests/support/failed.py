"""Runs the tests that failed in the last run once more, one after another: `uv run python tests/support/failed.py`.

`pytest --last-failed` does not find tests that are kept together in one process, because pytest-xdist adds the name of
their group to theirs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

MOST = 20
"""If more than these failed, something is broken, and the second run would only cost time."""


def failed_tests(kept: str) -> list[str]:
    """The tests that pytest noted as failed, without the names of their groups."""
    return [re.sub(r"@[\w-]+$", "", name) for name in json.loads(kept)]


def main() -> int:
    """The exit code of the second run; 1 where there is nothing to run, or too much."""
    names = failed_tests(Path(".pytest_cache/v/cache/lastfailed").read_text("utf-8"))
    if not 0 < len(names) <= MOST:
        print(f"{len(names)} tests failed, which is not a matter of luck")
        return 1
    print("once more, alone:", *names, sep="\n  ", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-m", "", *names]).returncode


if __name__ == "__main__":
    sys.exit(main())
