"""Rows as a data frame, where pandas is installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from workbench.config.errors import WorkbenchError


def data_frame(rows: Sequence[dict[str, Any]]) -> Any:
    """A data frame with a row each. Raises WorkbenchError where pandas is missing."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise WorkbenchError("to_pandas needs pandas, which is not installed here: pip install pandas") from None
    return pandas.DataFrame(list(rows))
