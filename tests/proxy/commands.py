"""`workbench proxy` in a process of its own, and a request through it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from support.waiting import GIVE_UP

ASK = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello there"}]}).encode()


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "WORKBENCH_DATA_DIR": str(folder / "data"), "WORKBENCH_CONFIG_DIR": str(folder)}
    command = [sys.executable, "-m", "workbench", "proxy", *arguments]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        until_recorded(folder / "data")


def asked(address: str) -> str:
    request = urllib.request.Request(f"{address}/v1/chat/completions", ASK, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=GIVE_UP) as came:
        return str(json.load(came)["choices"][0]["message"]["content"])


def until_recorded(data: Path) -> None:
    """Wait for a recorder that reads on when its proxy has ended."""
    journals = data / "unrecorded"
    while journals.is_dir() and any(_lives(each.name) for each in journals.iterdir()):
        time.sleep(0.01)


def _lives(name: str) -> bool:
    """Whether the recorder of a journal that nobody writes any more still runs."""
    if psutil.pid_exists(int(name.partition("-")[0])):
        return False
    return any(name in part for process in psutil.process_iter() for part in _command(process))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
