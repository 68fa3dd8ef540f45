"""Which reports of a recorded session its calibration is learnt from, and what each of them taught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from workbench.models.calibration import Calibration, Calibrator
from workbench.sources.requests import RequestMark

LEARNT_FROM = 1_000
"""A model's calibration is learnt from this many of its newest reports, so that a longer session takes no longer."""


class ReportLesson(NamedTuple):
    """What one report taught the calibration."""

    mark: RequestMark
    learner: Calibrator
    number: int
    """Its number among the reports for its model."""

    @property
    def estimated(self) -> int | None:
        """The estimate from the reports before it; None if its model had none."""
        return self.learner.estimate_of(self.number) if self.number > 1 else None

    @property
    def learnt(self) -> Calibration:
        """The calibration after it."""
        return self.learner.calibration_after(self.number)


def first_learnt_from(marks: Sequence[RequestMark], is_main: Callable[[RequestMark], bool]) -> Mapping[str, int]:
    """By model: the index of the oldest request whose report is learnt from; not for models with fewer reports, of
    which all requests are counted in one walk, also those before the first report."""
    reports, found = Counter[str](), dict[str, int]()
    for at in reversed(range(len(marks))):
        mark = marks[at]
        if mark.reported and reports[mark.model] < LEARNT_FROM and is_main(mark):
            reports[mark.model] += 1
            found[mark.model] = at
    return {model: at for model, at in found.items() if reports[model] == LEARNT_FROM}
