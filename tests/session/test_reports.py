"""What is written for the user to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.config.errors import WrongCall
from workbench.session.reports import write_new


@pytest.mark.parametrize("name", ["x" * 400, "x" * 400 + "/log.jsonl", "a\0b", "a\0b/log.jsonl"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WrongCall, match=r"cannot be written|there is no folder"):
        write_new(tmp_path / name, "{}")
