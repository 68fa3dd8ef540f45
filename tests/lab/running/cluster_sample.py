"""A scheduler and workers of Dask on this machine, and short sessions for them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from support.talk import words
from support.waiting import WaitLimit
from workbench.config.optional_packages import import_optional
from workbench.lab.running.tasks import LabPolicy

POLICIES = (LabPolicy("recorded"), LabPolicy("layers", ("masking.keep_last=1",), "tight"))


def talk(number: int) -> str:
    said = {"role": "user", "content": f"the port is {48000 + number} {words(30 * number)}"}
    return json.dumps([said, {"role": "assistant", "content": f"{48000 + number} it is"}])


class Cluster:
    """A scheduler and its workers, started with their own commands."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        assert scheduler.stderr is not None
        found = next(line for line in scheduler.stderr if b"Scheduler at:" in line)
        self.address = found.split()[-1].decode()
        self.workers = [self.start_worker() for _ in range(workers)]

    def start_worker(
        self, environment: dict[str, str] | None = None, folder: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """One more worker. `folder`: where it runs, if not where the others do."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        return self._started("worker", self.address, *options, environment=environment, folder=folder)

    def wait_for_workers(self, many: int) -> None:
        """Until so many are there. One that was killed is listed for a moment longer."""
        limit = WaitLimit()
        with import_optional("distributed", "a test", "cluster").Client(self.address) as client:
            while len(client.nthreads()) != many:
                assert not limit.is_over
                time.sleep(0.05)

    def wait_for_orders(self, many: int) -> None:
        """Until a worker has so many orders, the one that it works on included."""
        limit = WaitLimit()
        with import_optional("distributed", "a test", "cluster").Client(self.address) as client:
            while max(map(len, client.processing().values())) < many:
                assert not limit.is_over
                time.sleep(0.05)

    def _started(
        self, *words: str, environment: dict[str, str] | None = None, folder: Path | None = None
    ) -> subprocess.Popen[bytes]:
        call = [sys.executable, "-m", "dask", *words]
        process = subprocess.Popen(call, cwd=folder or self._folder, stderr=subprocess.PIPE, env=environment)
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End all of it."""
        for process in self._processes:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
