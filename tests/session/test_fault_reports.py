"""Reports of what nobody expected: found again, safe to read, and never too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.config.text import printable_lines
from workbench.session.fault_reports import KEPT, FaultReports, latest_report, reports_dir

KEY = "an-unusual-key-0123456789"


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200))
def test_whatever_an_error_says_no_report_has_a_key_or_a_control_character(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    line = FaultReports().report(raised(ValueError(f"{said}{KEY} Bearer abcdefghijk \x1b]52;c;x\x07{said}")))
    report = latest_report()
    assert report is not None
    for text in (line, *report.read_text(encoding="utf-8").split("\n")):
        assert KEY not in text
        assert "abcdefghijk" not in text
        assert text == printable_lines(text)[0], "nothing is left that a terminal would act on"
    report.unlink()


def test_a_place_is_told_once() -> None:
    reports = FaultReports()
    first = [reports.report(raised(ValueError(text))) for text in ("one", "two")]
    assert str(latest_report()) in first[0]
    assert first[1] == ""
    assert reports.report(raised(KeyError("one")))


def test_only_the_newest_reports_are_kept() -> None:
    for _ in range(KEPT + 3):
        FaultReports().report(raised(ValueError("again")))
    assert len(list(reports_dir().glob("*.txt"))) == KEPT


def test_where_none_can_be_written_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKBENCH_DATA_DIR", str(tmp_path / "file"))
    assert "no report could be written" in FaultReports().report(raised(ValueError("full")))


def test_what_calls_itself_is_reported_from_the_bottom_of_its_stack() -> None:
    reports, said = FaultReports(), []

    def deeper() -> None:
        try:
            deeper()
        except RecursionError as error:
            said.append(reports.report(error))
            raise ValueError("deep enough") from None

    with pytest.raises(ValueError, match="deep enough"):
        deeper()
    report = latest_report()
    assert report is not None
    assert report.read_text().count("in deeper") > 10
    assert "RecursionError" in said[0]
