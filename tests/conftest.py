"""What all tests share: no deadline for random tests, no touching of the user's own folders, a lazy collector."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import re
import signal
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from _pytest.unraisableexception import gc_collect_iterations_key
from coverage import Coverage
from hypothesis import HealthCheck, settings
from xdist.scheduler.loadgroup import LoadGroupScheduling  # type: ignore[import-untyped]

from workbench.config.plugins import PROBLEMS, PluginProblems
from workbench.sources.services import Services

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
ORDINARY = settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
settings.register_profile("workbench", ORDINARY)
settings.register_profile("repeatable", ORDINARY, derandomize=True)
settings.register_profile("thorough", ORDINARY, max_examples=1_000)
settings.load_profile("workbench")

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a careful programmer."},
    {"role": "user", "content": "Why does [/b] the \x1b[31mlogin\x1b[0m test fail?"},
    {
        "role": "assistant",
        "content": "I will look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "auth.py"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "import sqlite3\n" * 300},
    {"role": "assistant", "content": "The fixture opens the database twice."},
    {"role": "user", "content": "must support Python 3.11"},
]

HUNG = 900
"""Seconds after which the tests of a file are taken for stuck."""
ONE_AUTHORITY = Path(__file__).parent / "support" / "one_authority.pem"
NUMBERS = count()
"""Of the folders of this process's tests."""
WATCHED: dict[str, Path] = {}
"""The file whose tests run."""
CASES_COUNTED: set[str] = set()
"""Tests of the screen, of each of which this process has counted a case."""

# A screen makes hundreds of thousands of small objects, and a test process holds millions that stay: looking through
# them as often as Python does by default is a third of the time.
gc.set_threshold(50_000, 20, 50)

# In the background SIGINT and SIGQUIT may be ignored, under nohup SIGHUP; programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for name in ("SIGHUP", "SIGQUIT"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a path that does not exist: the processes of xdist would only say that no tests ran.

    At the end pytest collects garbage five times, for interpreters that need it; in this one the first finds it all.
    """
    config.stash[gc_collect_iterations_key] = 1
    for each in config.args:
        if not (config.invocation_params.dir / each.partition("::")[0]).exists():
            raise pytest.UsageError(f"file or directory not found: {each}")
    if hasattr(config, "workerinput") and not (config.getoption("durations") or config.getoption("xmlpath")):
        _send_less(config)


def _send_less(config: pytest.Config) -> None:
    """Have a process of xdist send two messages for a test that passes, not six, which take a millisecond.

    The others say that it begins and ends, and that what stands around it passed: nobody prints that.
    """
    named = {type(each).__name__: each for each in config.pluginmanager.get_plugins()}
    worker = named["WorkerInteractor"]  # of a module without a name
    send = worker.sendevent

    def sendevent(name: str, **told: Any) -> None:
        report = told.get("data", {})
        passed_around = name == "testreport" and report["when"] != "call" and report["outcome"] == "passed"
        if not (passed_around or name in ("logstart", "logfinish")):
            send(name, **told)

    worker.sendevent = sendevent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Print where a hung test stands. Pytest starts and ends a thread in every test for that; here it is one a file."""
    if item.path != WATCHED.get("file"):
        WATCHED["file"] = item.path
        faulthandler.dump_traceback_later(HUNG, file=item.config.stash[fault_handler_stderr_fd_key])


def pytest_sessionfinish() -> None:
    faulthandler.cancel_dump_traceback_later()


class WholeFiles(LoadGroupScheduling):  # type: ignore[misc]
    """The tests of a file, or of a group, run in one process: the fixtures of a module are made once."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return scope.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> WholeFiles | None:
    return WholeFiles(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is made here, all modules and thousands of tests, stays: the collector need not look through it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own. Pytest's looks for a number among all that are there: in the end 3 ms a test."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}{next(NUMBERS)}", numbered=False)


@pytest.fixture(scope="session", autouse=True)
def no_knobs() -> None:
    """None from the tester's environment."""
    for name in [name for name in os.environ if name.startswith("WORKBENCH_")]:
        del os.environ[name]


@pytest.fixture(scope="module", autouse=True)
def one_authority() -> Iterator[None]:
    """One certificate is trusted: to load all of a system's takes a process a seventh of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(ONE_AUTHORITY))
        yield


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has a config and a data folder of its own, and hears of no plug-in that was broken in another one."""
    for name in ("config", "data", "cache"):
        monkeypatch.setenv(f"WORKBENCH_{name.upper()}_DIR", f"{tmp_path}/{name}")
    monkeypatch.setenv("HOME", f"{tmp_path}/home")  # other agents' sessions are looked for there
    yield
    vars(PROBLEMS).update(vars(PluginProblems()))


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A short transcript with hostile text in it."""
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK), "utf-8")
    return path


@pytest.fixture
def services() -> Iterator[Services]:
    """The user's things."""
    with Services() as made:
        yield made


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, that no `AGENTS.md` reaches."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


def _is_counted(item: pytest.Item) -> bool:
    """Whether its lines are: not of random cases, pictures and what is long; of the screen, of a test's first case.

    With it all of them take more than twice the time, and it is the screen that takes most.
    """
    is_random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    if is_random or "pictures" in getattr(item, "fixturenames", ()) or item.get_closest_marker("long"):
        return False
    name, _, case = item.nodeid.partition("[")
    if case and "tui" in item.path.parts:
        is_first = name not in CASES_COUNTED
        CASES_COUNTED.add(name)
        return is_first
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Coverage is counted where single cases say what happens.

    pytest-cov has a marker for that, but in the processes of pytest-xdist there are two counts, one below the other,
    and it stops one of them.
    """
    stopped: list[Coverage] = []
    if not _is_counted(item):
        while (count := Coverage.current()) is not None:
            count.stop()
            stopped.append(count)
    try:
        return (yield)
    finally:
        for count in reversed(stopped):
            count.start()
