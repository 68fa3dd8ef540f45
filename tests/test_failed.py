"""Tests that failed are found again by name, also those that pytest-xdist keeps together."""

from __future__ import annotations

import json

from support.failed import failed_tests


def test_names_are_found_without_their_groups() -> None:
    kept = json.dumps({"tests/a.py::test_one@litellm": True, "tests/b.py::test_two[me@home]": True})
    assert failed_tests(kept) == ["tests/a.py::test_one", "tests/b.py::test_two[me@home]"]
