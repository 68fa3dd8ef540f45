"""The one rule for sums of costs of which some are not known."""

from __future__ import annotations


def known_part(cost: float, requests: int, uncosted: int) -> float | None:
    """The known part of a sum; None if there were requests and the cost of none of them is known.

    `uncosted`: the requests that are missing from the sum.
    """
    return None if requests and uncosted == requests else cost
