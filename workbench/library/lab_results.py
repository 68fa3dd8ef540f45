"""The result of the lab for one session, for other people's programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.config.text import SCHEMA
from workbench.lab.figures import policy_figures
from workbench.lab.reports import lab_json
from workbench.lab.values import PolicyRun, SourceRun
from workbench.library.frames import data_frame
from workbench.library.pages import lab_page_of


@dataclass(frozen=True, slots=True)
class LabResult:
    """A session under several policies."""

    run: SourceRun

    @property
    def runs(self) -> Sequence[PolicyRun]:
        """The session under each policy, with every request, compaction and miss."""
        return self.run.runs

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The figures of each policy: tokens, peak, compactions, misses, cost and more."""
        return [policy_figures(run) for run in self.run.runs]

    def to_dict(self) -> dict[str, Any]:
        """The same as `workbench lab --json`."""
        return {"schema": SCHEMA, **lab_json([self.run])}

    def to_pandas(self) -> Any:
        """The figures as a data frame of pandas, which has to be installed."""
        return data_frame(self.rows)

    def _repr_html_(self) -> str:
        return str(lab_page_of(self.run.source, self.rows))
