"""Time-outs and retries stand in the config."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.config.tables import read_table
from workbench.models.gateway import SilenceLimits
from workbench.models.model_routes import LOCAL_FIRST, RequestSettings
from workbench.models.retry import RetrySchedule


def read(table: dict[str, Any]) -> RequestSettings:
    return read_table(RequestSettings, table, "c.toml", "requests")


def test_without_a_table_the_defaults_hold() -> None:
    assert read({}).patience("gpt-4o") == SilenceLimits()
    assert read({}).schedule() == RetrySchedule()


def test_the_embedded_model_may_take_longer_to_begin() -> None:
    for model in ("local", "local:/some.gguf"):
        assert read({}).patience(model) == SilenceLimits(first=LOCAL_FIRST)
    assert read({"first_token_seconds": 20}).patience("local").first == 20, "unless the user says so"


def test_what_the_table_says_is_taken() -> None:
    table = read({"first_token_seconds": 120, "between_tokens_seconds": 7.5, "tries": 2, "retry_seconds": 0})
    assert table.patience("gpt-4o") == SilenceLimits(120, 7.5)
    assert (table.schedule().tries, table.schedule().seconds) == (2, 0)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"timeout": 1}, "requests.timeout: no such key; expected one of first_token_seconds"),
        ({"tries": 0}, "requests.tries: expected a whole number from 1 to 100, got 0"),
        ({"tries": 2.0}, "requests.tries: expected a whole number from 1 to 100, got 2.0"),
        ({"tries": True}, "requests.tries: expected a whole number"),
        ({"first_token_seconds": 0}, "requests.first_token_seconds: expected seconds from 1 to 86400, got 0"),
        ({"between_tokens_seconds": "1"}, "requests.between_tokens_seconds: expected seconds from 1"),
        ({"retry_seconds": -1}, "requests.retry_seconds: expected seconds from 0 to 86400, got -1"),
        ({"retry_seconds": float("nan")}, "requests.retry_seconds: expected seconds"),
    ],
)
def test_a_wrong_table_names_the_key(table: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongCall) as caught:
        read(table)
    assert str(caught.value).startswith(f"c.toml: {said}")


@given(
    st.dictionaries(
        st.sampled_from(["first_token_seconds", "between_tokens_seconds", "tries", "retry_seconds"]),
        st.integers(-5, 200) | st.floats() | st.booleans() | st.text(max_size=3),
    )
)
def test_whatever_passes_the_check_can_be_used(table: dict[str, Any]) -> None:
    try:
        settings = read(table)
    except WrongCall:
        return
    patience, schedule = settings.patience("local"), settings.schedule()
    assert min(patience.first, patience.between, schedule.tries) >= 1
    assert 0 <= schedule.seconds <= 86_400
