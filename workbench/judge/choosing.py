"""Chooses the probes to ask: as many of each kind as possible, spread over the conversation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.judge.values import KINDS, Probe, ProbeKind


def quotas(available: dict[ProbeKind, int], wanted: int) -> dict[ProbeKind, int]:
    """How many probes of each kind to ask: equal shares; what one kind lacks goes to the others."""
    given: dict[ProbeKind, int] = dict.fromkeys(KINDS, 0)
    left = min(wanted, sum(available.values()))
    while left:
        for kind in KINDS:
            if left and given[kind] < available.get(kind, 0):
                given[kind] += 1
                left -= 1
    return given


def choose_probes(probes: Sequence[Probe], wanted: int, replaced: Collection[str]) -> list[Probe]:
    """The probes to ask, in their order: those with an event in `replaced`, for the others are known word for word."""
    by_kind: dict[ProbeKind, list[Probe]] = {kind: [] for kind in KINDS}
    for probe in probes:
        if any(event in replaced for event in probe.events):
            by_kind[probe.kind].append(probe)
    shares = quotas({kind: len(found) for kind, found in by_kind.items()}, wanted)
    return [probe for kind in KINDS for probe in evenly_spread(by_kind[kind], shares[kind])]


def evenly_spread(probes: Sequence[Probe], count: int) -> list[Probe]:
    """So many of them, at equal distances, the last one included."""
    if count >= len(probes):
        return list(probes)
    return [probes[((2 * at + 1) * len(probes) + count) // (2 * count) - 1] for at in range(count)]
