"""What differs between systems is in one module, and the program can be imported without what Windows lacks."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.source_code import PACKAGE, module_nodes, parsed_once
from support.without_posix import MODULES, NAMES
from workbench.config import system

ROOT = Path(__file__).parents[2]
OWN = "config/system.py"


def _posix_names(path: Path) -> list[str]:
    """What a module uses that Windows lacks."""
    found = []
    for node in module_nodes(path):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in NAMES.get(node.value.id, ()):
                found.append(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in {*MODULES, *NAMES}:
            found += [each.name for each in node.names if node.module in MODULES or each.name in NAMES[node.module]]
    return found


@parsed_once
def test_what_windows_lacks_is_used_in_one_module() -> None:
    found = {str(path.relative_to(PACKAGE)): names for path in PACKAGE.rglob("*.py") if (names := _posix_names(path))}
    assert set(found.pop(OWN)) >= {"os.killpg", "signal.SIGHUP", "fcntl", "termios"}, "the check finds something"
    assert found == {  # each where it was made sure that it is there
        "config/variables.py": ["os.environb", "os.environb"],
        "config/processes.py": ["os.sysconf"],
        "proxy/recorder_process.py": ["os.nice"],
    }


@pytest.mark.long
def test_every_module_is_imported_and_a_transcript_planned_without_what_windows_lacks(talk: Path) -> None:
    program = (
        "from support.without_posix import import_all, take_away\n"
        "take_away()\n"
        "import sys, workbench\n"
        "count = import_all(workbench)\n"
        "from workbench.cli.main import main\n"
        "code = main(['plan', sys.argv[1], '--json'])\n"
        "print(count, file=sys.stderr)\n"
        "raise SystemExit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(talk)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["items"][-1]["text"] == "must support Python 3.11"
    assert int(done.stderr.split()[-1]) > 500


def test_one_lock_excludes_another(tmp_path: Path) -> None:
    handles = [os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR) for _ in range(3)]
    assert system.lock_file(handles[0])
    assert not system.lock_file(handles[1])
    assert not system.lock_file(handles[1], shared=True)
    os.close(handles[0])
    assert system.lock_file(handles[1], shared=True)
    assert system.lock_file(handles[2], shared=True)
    for each in handles[1:]:
        os.close(each)


@pytest.mark.parametrize("has_groups", [True, False])
def test_a_program_and_what_it_started_end_together(monkeypatch: pytest.MonkeyPatch, has_groups: bool) -> None:
    monkeypatch.setattr(system, "HAS_GROUPS", has_groups)
    process = subprocess.Popen(
        ["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True, **system.own_group()
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert system.group_runs(process.pid)
    assert system.end_group(process.pid, at_once=True)
    assert process.wait() < 0
    with process.stdout as output:
        assert output.read() == "", "the child has closed it, too"
    assert child not in (int(each) for each in os.listdir("/proc") if each.isdigit()) or _is_dead(child)


def _is_dead(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith(("Z", "X"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no copies of processes here")
def test_a_copy_of_the_process_answers_or_is_known_to_have_failed() -> None:
    code = """
import os
from threading import Event, Thread
from workbench.config.system import start_copy
large = start_copy(lambda: b"x" * 1_000_000)
failed = start_copy(lambda: 1 // 0)
print(len(large()), failed())
stop = Event()
thread = Thread(target=stop.wait)
thread.start()
print(start_copy(lambda: b""))
stop.set()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1000000 b''", "None"]
