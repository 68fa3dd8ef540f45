"""Programs that the model starts do not see the user's keys."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.tools.environment import ToolSettings
from workbench.agent.tools.registry import Toolbox
from workbench.config.errors import WrongCall
from workbench.config.tables import read_table
from workbench.config.variables import selected_variables, without_keys, without_known_keys

KEYS = (
    *("OPENAI_API_KEY", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "CLIENT_SECRET", "PGPASSWORD_TOKEN"),
    *("DB_PASSWORD", "GOOGLE_APPLICATION_CREDENTIALS", "TOKEN", "API_KEY", "my_api_key", "SSH_PASSPHRASE"),
    *("OPENAI_API_KEY_OLD", "MYAPIKEY", "OPENAIKEY", "DB_PASS", "MYSQL_PWD", "SLACK_TOKENS", "GH_AUTH", "X_BEARER"),
)
HARMLESS = (
    "PATH",
    "HOME",
    "LANG",
    "SSH_AUTH_SOCK",
    "KEYBOARD",
    "TOKENIZERS_PARALLELISM",
    "MONKEY",
    "PYTHONPATH",
    "PWD",
    "OLDPWD",
)


def test_variables_named_like_keys_are_left_out() -> None:
    environ = dict.fromkeys((*KEYS, *HARMLESS), "x")
    assert set(without_keys(environ=environ)) == set(HARMLESS)


def test_values_that_look_like_keys_are_left_out_under_any_name() -> None:
    for value in ("sk-proj-abcdefgh1234", "ghp_abcdefghij0123456789", "AIzaSyA1234567890abc"):
        environ = {
            "SOME_THING": value,
            "HEADER": f"Bearer {value}",
            "JSON": f'{{"k":"{value}"}}',
            "PATH": f"/bin:{value}",
        }
        assert without_keys(environ=environ) == {"PATH": f"/bin:{value}"}
        assert without_known_keys(f"it is {value}", environ={"HEADER": f"Bearer {value}"}) == "it is [key]"


def test_a_number_of_tokens_is_no_key() -> None:
    limits = {"MAX_THINKING_TOKENS": "31999", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "320000000"}
    keys = {"SLACK_TOKENS": "a1,b2", "PIN_TOKEN": "12345678"}
    assert without_keys(environ={**limits, **keys}) == limits
    assert without_known_keys("320000000 12345678", environ={**limits, **keys}) == "320000000 [key]"


def test_an_address_with_a_password_is_left_out_but_not_that_of_a_proxy() -> None:
    environ = {
        "DATABASE_URL": "postgres://u:secret@host/db",
        "CELERY_BROKER_URL": "redis://:secret@host:6379/0",
        "HTTPS_PROXY": "http://u:secret@host:3128",
        "SITE": "https://a.b/c",
    }
    assert set(without_keys(environ=environ)) == {"HTTPS_PROXY", "SITE"}


@given(st.text("abcdefgh0123", min_size=8, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_no_key_that_we_know_stands_in_a_text(key: str, before: str, after: str) -> None:
    environ = {"SOME_API_KEY": key, "OTHER_TOKEN": key[:8]}
    assert key not in without_known_keys(before + key + after, environ=environ)


def test_the_name_of_a_file_is_no_key(tmp_path: Path) -> None:
    environ = {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path), "OTHER_TOKEN": "short"}
    assert without_known_keys(f"{tmp_path} short", environ=environ) == f"{tmp_path} short"


START = """
import ctypes, os, subprocess, sys
from workbench.config.variables import clear_start_block
clear_start_block()
block = open(f"/proc/{os.getpid()}/environ", "rb").read()
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(b"sk-secret" in block, b"GREETING=hello" in block)
print(os.environ["OPENAI_API_KEY"], getenv(b"OPENAI_API_KEY").decode())
inherited = subprocess.run(["printenv", "OPENAI_API_KEY"], capture_output=True, text=True).stdout
print(inherited, end="")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_other_processes_do_not_find_keys_in_the_block_that_we_were_started_with() -> None:
    env = {**os.environ, "OPENAI_API_KEY": "sk-secret-1234", "GREETING": "hello", "EMPTY_TOKEN": "", "Z": "last"}
    done = subprocess.run([sys.executable, "-c", START], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "sk-secret-1234", "sk-secret-1234", "sk-secret-1234"]


def test_the_user_may_let_some_through() -> None:
    environ = dict.fromkeys((*KEYS, *HARMLESS), "x")
    assert set(without_keys(["GH_TOKEN", "AWS_*"], environ)) == {
        *HARMLESS,
        *("GH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
    }
    assert set(selected_variables(["GH_TOKEN", "LANG"], environ)) == {"GH_TOKEN", "LANG"}
    assert selected_variables([], environ) == {}


@given(st.text(max_size=12), st.sampled_from(["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_KEY"]))
def test_whatever_stands_before_it_a_key_is_a_key(name: str, ending: str) -> None:
    assert without_keys(environ={name + ending: "x"}) == {}


async def test_a_command_does_not_see_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GH_TOKEN", "gh-secret")
    monkeypatch.setenv("GREETING", "hello")
    call = '{"command": "echo $GREETING $OPENAI_API_KEY $GH_TOKEN"}'
    assert (await Toolbox(tmp_path).run_tool("run_command", call)).text.startswith("hello\n")
    passing = Toolbox(tmp_path, pass_env=["GH_*"])
    assert (await passing.run_tool("run_command", call)).text.startswith("hello gh-secret\n")
    assert os.environ["OPENAI_API_KEY"] == "sk-secret", "we ourselves need it"


def test_the_config() -> None:
    assert read_table(ToolSettings, {}, "c.toml", "tools").pass_env == ()
    assert read_table(ToolSettings, {"pass_env": ("GH_TOKEN",)}, "c.toml", "tools").pass_env == ("GH_TOKEN",)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"passenv": []}, "tools.passenv: no such key; expected pass_env"),
        ({"pass_env": "GH_TOKEN"}, "tools.pass_env: expected a list of names of variables"),
        ({"pass_env": [""]}, "tools.pass_env: expected"),
        ({"pass_env": ["A=B"]}, "tools.pass_env: expected"),
        ({"pass_env": ["A\0B"]}, "tools.pass_env: expected"),
        ({"pass_env": [1]}, "tools.pass_env: expected"),
    ],
)
def test_a_wrong_config_is_named(table: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongCall) as caught:
        read_table(ToolSettings, table, "c.toml", "tools")
    assert str(caught.value).startswith(f"c.toml: {said}")
