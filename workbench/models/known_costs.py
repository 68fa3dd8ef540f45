"""What a request cost, and the rules for costs that are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from workbench.models.catalogue import ModelInfo  # late: a kept table of usage needs no prices

CostSource = Literal["reported", "prices", "unknown"]

_MOST = 1e9
"""The largest believable cost of a request."""


def known_cost(value: Any) -> float | None:
    """A cost as another program reports it; None for anything that is not a price."""
    return value if type(value) in (int, float) and 0 <= value < _MOST else None


def known_part(cost: float, requests: int, uncosted: int) -> float | None:
    """The known part of a sum; None if there were requests and the cost of none of them is known.

    `uncosted`: the requests that are missing from the sum.
    """
    return None if requests and uncosted == requests else cost


def request_cost(
    model: ModelInfo,
    reported: float | None,
    prompt: int,
    cached: int,
    written: int,
    hour: int,
    out: int,
) -> tuple[float | None, CostSource]:
    """The cost of a request: as reported, otherwise by the list prices, otherwise unknown.

    Agents write 0 if they know no price, so a reported 0 counts only for models that are free. `hour`: the part of what
    was written to the cache that is kept for an hour.
    """
    info = model.for_request(prompt)
    if reported or (reported is not None and (info.input_price == 0 or info.name.endswith(":free"))):
        return reported, "reported"
    # Cached and written tokens are part of the prompt: the rest is paid in full.
    plain = prompt - cached - written
    spent_in = info.input_cost(plain if plain > 0 else 0, cached, written, hour if hour < written else written)
    if spent_in is None or info.output_price is None:
        return None, "unknown"
    return spent_in + out * info.output_price, "prices"
