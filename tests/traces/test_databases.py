"""Nothing a database holds breaks a reader."""

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import Unknown
from workbench.sources.source import file_logs
from workbench.traces.formats import DATABASES
from workbench.traces.tables import Tables

COLUMNS = {
    "opencode": {
        "session": "id slug title revert time_created",
        "message": "id session_id time_created data",
        "part": "id message_id session_id data",
    },
    "openai-agents": {
        "agent_sessions": "session_id created_at",
        "agent_messages": "id session_id message_data created_at",
        "message_structure": "id session_id message_id branch_id sequence_number user_turn_number",
        "turn_usage": "session_id branch_id user_turn_number requests input_tokens output_tokens"
        " input_tokens_details output_tokens_details",
    },
    "llm": {
        "threads": "id name tip_message_hash",
        "turns": "id thread_id tip_message_hash model input_tokens output_tokens token_details datetime_utc",
        "messages": "hash parent_hash role",
        "parts": "message_hash position type text payload",
        "turn_tools": "turn_id tool_id",
        "tools": "id name description input_schema",
        "fragments": "id content",
        "attachments": "id type path url content",
        "conversations": "id name model",
        "responses": "id model prompt system response conversation_id datetime_utc input_tokens output_tokens",
        "tool_calls": "id response_id name arguments tool_call_id",
    },
    "Kiro": {"conversations": "key value", "conversations_v2": "key value updated_at"},
    "Crush": {
        "sessions": "id parent_session_id title summary_message_id created_at updated_at",
        "messages": "id session_id role parts model created_at",
    },
    "goose": {
        "sessions": "id description created_at provider_name model_config_json",
        "messages": "id session_id role content_json created_timestamp metadata_json",
    },
}
KEYS = "type role text tool state status input output time created tokens cache read error name data id call_id content"
KINDS = "user assistant system tool text reasoning tool_call function_call step-finish compaction"
kinds = st.sampled_from(KINDS.split())
leaves = st.none() | st.booleans() | st.integers() | st.floats() | kinds | st.text(max_size=3) | st.just("\ud800")
objects = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=6),
    max_leaves=12,
)
ids = st.sampled_from(["1", "2", 1, 2])
cells = ids | kinds | objects.map(json.dumps) | st.none() | st.integers(-(2**63), 2**63 - 1) | st.binary(max_size=4)


@st.composite
def databases(draw: st.DrawFn) -> Tables:
    """One with the tables of a format and anything in them."""
    made = sqlite3.connect(":memory:")
    for table, columns in COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))].items():
        names = columns.split()
        made.execute(f"CREATE TABLE {table} ({', '.join(names)})")
        rows = draw(st.lists(st.tuples(*(cells for _ in names)), max_size=3))
        made.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' for _ in names)})", rows)
    return Tables("file", made)


def test_every_format_is_tried() -> None:
    assert [each.name for each in DATABASES] == list(COLUMNS)


@given(databases())
def test_a_database_is_read_or_refused_in_words(tables: Tables) -> None:
    logs: list[Any] = []
    with suppress(WrongCall):
        logs = file_logs("file", tables)
    for log in logs:
        assert [decode_event(encode_event(event).encode().decode()) for event in log] == log


def test_bytes_in_the_place_of_a_role_are_left_out() -> None:
    made = sqlite3.connect(":memory:")
    for table, columns in COLUMNS["goose"].items():
        made.execute(f"CREATE TABLE {table} ({columns.replace(' ', ', ')})")
    made.execute("INSERT INTO sessions (id) VALUES ('1')")
    made.execute("INSERT INTO messages (session_id, role, content_json) VALUES ('1', ?, '[]')", (b"\0",))
    [log] = file_logs("file", Tables("file", made))
    [unread] = [event.body for event in log if isinstance(event.body, Unknown)]
    entry: dict[str, object] = {"role": None, "content": [], "created": None, "metadata": {}}
    assert unread == Unknown("goose message", {"entry": entry})
