"""Writes the lab's results as Parquet: a row per session and policy, with the requests in one column."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import IO, Any

from workbench.config.optional_packages import import_optional
from workbench.lab.figures import FIGURES, policy_figures
from workbench.lab.values import LabPoint, SourceRun

_TEXTS = frozenset({"source", "model", "policy"})
_FRACTIONS = frozenset({"misses_per_100", "missed_in_100", "reread_cost", "cost", "judged"})
_AT_ONCE = 100
"""How many sessions are in memory as rows."""


def load_parquet() -> tuple[Any, Any]:
    """Import the packages that write Parquet. Raises WrongCall where they are missing."""
    return import_optional("pyarrow", "--parquet", "cluster"), import_optional(
        "pyarrow.parquet", "--parquet", "cluster"
    )


def write_parquet(sources: Iterable[SourceRun], file: IO[bytes]) -> None:
    """Write one table, some sessions at a time. Raises WrongCall where the packages are missing."""
    arrow, files = load_parquet()
    schema, sources = _schema(arrow), iter(sources)
    with files.ParquetWriter(file, schema) as writer:
        while batch := list(islice(sources, _AT_ONCE)):
            rows = [
                {"source": _text(source.source), "model": _text(source.model), "window": run.window}
                | policy_figures(run)
                | {"points": [point._asdict() for point in run.points]}
                for source in batch
                for run in source.runs
            ]
            writer.write_table(arrow.Table.from_pylist(rows, schema))


def _text(name: str) -> str:
    """Text that can be encoded: names of files and texts of logs may hold broken characters."""
    return name.encode("utf-8", "replace").decode()


def _schema(arrow: Any) -> Any:
    """The type of each column, set here because it cannot be guessed from a column without values."""

    def kind(name: str) -> Any:
        return arrow.string() if name in _TEXTS else arrow.float64() if name in _FRACTIONS else arrow.int64()

    point = arrow.struct([(name, arrow.bool_() if name == "fits" else arrow.int64()) for name in LabPoint._fields])
    columns = [(name, kind(name)) for name in ("source", "model", "window", *FIGURES)]
    return arrow.schema([*columns, ("points", arrow.list_(point))])
