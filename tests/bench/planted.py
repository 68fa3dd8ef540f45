"""How many planted misses the lab finds, and how many of those it reports are real.

`uv run python tests/bench/planted.py [SESSIONS]` prints precision and recall with their ranges over sessions, and the
recall of each kind, the worst first.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.planted import planted_session, share_interval


def main(sessions: int) -> None:
    """Print the table."""
    results = [planted_session(seed) for seed in range(sessions)]
    recall = share_interval([(sum(each.found.values()), len(each.found)) for each in results])
    precision = share_interval([(each.right, each.reported) for each in results])
    for name, (share, low, high) in (("precision", precision), ("recall", recall)):
        print(f"{name:<10} {share:6.1%}  95 of 100 samples of {sessions} sessions: {low:.1%} to {high:.1%}")
    kinds: dict[str, list[bool]] = defaultdict(list)
    for each in results:
        for kind, found in each.found.items():
            kinds[kind].append(found)
    whole = sum(all(tries) for tries in kinds.values())
    print(f"\n{whole} of {len(kinds)} kinds are always found; the others:")
    for kind, tries in sorted(kinds.items(), key=lambda each: sum(each[1]) / len(each[1])):
        if not all(tries):
            print(f"  {kind:<26} {sum(tries):>3} of {len(tries)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
