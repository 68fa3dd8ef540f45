"""A cluster with machines that are not like this one: other code, no files, no scheduler any more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.running.cluster_sample import POLICIES, Cluster, talk
from support.held_files import held_file
from support.waiting import GIVE_UP
from workbench.cli.main import main
from workbench.config.distribution import package_folder
from workbench.lab.running.code_stamp import CodeStamp, StrangeWorker, own_stamp, stamp_difference
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.tasks import LabTask
from workbench.lab.running.workers import LabWorkers, run_all
from workbench.sources.services import Services


@pytest.fixture
def other_code(tmp_path: Path) -> dict[str, str]:
    """An environment in which the lab counts misses in another way."""
    folder = tmp_path / "other"
    shutil.copytree(package_folder(), folder / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    needs = folder / "workbench" / "lab" / "replay" / "needs.py"
    needs.write_text(needs.read_text().replace("_DIGITS = 4", "_DIGITS = 6"))
    return {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.long
def test_a_worker_with_other_code_is_named_and_nothing_of_it_is_kept(
    cluster: Cluster, other_code: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1.json").write_text(talk(1))
    cluster.start_worker(other_code)
    cluster.wait_for_workers(3)
    assert main(["lab", str(tmp_path / "1.json"), "--cluster", cluster.address]) != 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "has other code" in said
    assert "nothing was replayed" in said


@pytest.mark.long
def test_a_worker_that_joins_later_with_other_code_refuses_its_tasks(
    cluster: Cluster, other_code: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "1.json").write_text(talk(1))
    task = LabTask(str(tmp_path / "1.json"), POLICIES)
    cluster.wait_for_workers(2)
    with LabWorkers(cluster=cluster.address) as workers, Services() as services, KeptRuns(services) as kept:
        for worker in cluster.workers:
            worker.kill()
        cluster.start_worker(other_code)
        with pytest.raises(StrangeWorker, match="joined with other code"):
            list(workers.run_tasks([task], kept=kept))
        assert kept.policies_left(task) == len(POLICIES)


@pytest.mark.long
def test_a_file_that_a_worker_lacks_says_who_looked(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(talk(1))
    tasks = [LabTask(str(tmp_path / name), POLICIES) for name in ("1.json", "2.json")]
    with LabWorkers(cluster=cluster.address) as workers:
        there, missing = workers.run_tasks(tasks)
    assert there == next(iter(run_all(tasks[:1], jobs=1)))
    assert "2.json" in missing.error
    assert "(worker tcp://127.0.0.1:" in missing.error


@pytest.mark.long
def test_a_scheduler_that_is_killed_ends_the_command_with_one_line(cluster: Cluster) -> None:
    cluster.wait_for_workers(2)
    with held_file("3.json", talk(3)) as held:
        call = [sys.executable, "-m", "workbench", "lab", held.address, held.address + "?again"]
        process = subprocess.Popen([*call, "--cluster", cluster.address], stderr=subprocess.PIPE, text=True)
        held.next_reader()
        cluster.scheduler.kill()
        _, said = process.communicate(timeout=GIVE_UP)
    assert process.returncode not in (0, -9)
    assert said.splitlines() == ["workbench: the connection to the cluster is lost"]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
def test_three_workers_give_the_result_of_one_machine_or_a_line_for_what_is_wrong(
    other_code: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has other code, one is killed in the middle, and one lacks the files."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    for number in range(3):
        (here / f"{number}.json").write_text(talk(number))
    monkeypatch.chdir(here)
    paths = [f"/proc/self/cwd/{number}.json" for number in range(3)]  # each process looks in its own folder
    with held_file("3.json", talk(3)) as first, held_file("4.json", talk(4)) as second:
        sources = [first.address, second.address, *paths]
        call = ["lab", *sources, "--policy", "recorded", "--policy", "layers", "--json"]
        cluster = Cluster(here, 1)
        try:
            strange, without_files = cluster.start_worker(other_code), cluster.start_worker(folder=elsewhere)
            cluster.wait_for_workers(3)
            assert main([*call, "--cluster", cluster.address]) != 0
            said = capfd.readouterr()
            assert said.out == ""
            assert said.err.count("\n") == 1
            assert "has other code" in said.err

            strange.kill()
            cluster.wait_for_workers(2)
            started = [sys.executable, "-m", "workbench", *call, "--cluster", cluster.address]
            process = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            readers = {first.next_reader().pid, second.next_reader().pid}
            assert readers == {cluster.workers[0].pid, without_files.pid}
            cluster.workers[0].kill()
            for held in (first, second):
                held.let_go()
            found, said_by_command = process.communicate(timeout=GIVE_UP)
            assert process.returncode == 0
            partial = json.loads(found)
            assert [each["source"] for each in partial["sources"]] == sources[:2]
            assert [each["source"] for each in partial["failed"]] == paths
            assert said_by_command.splitlines() == [f"· left out: {each['error']}" for each in partial["failed"]]
            assert all(" (worker tcp://127.0.0.1:" in each["error"] for each in partial["failed"])

            without_files.kill()
            cluster.start_worker()
            assert main([*call, "--cluster", cluster.address]) == 0
            on_cluster = capfd.readouterr()
            assert "2 sources of 5 kept from before" in on_cluster.err
        finally:
            cluster.close()
        assert main([*call, "--jobs", "1", "--fresh"]) == 0
        on_one_machine = capfd.readouterr()
    assert on_cluster.out == on_one_machine.out
    assert partial["sources"] == json.loads(on_one_machine.out)["sources"][:2]


def test_the_same_code_has_the_same_stamp_and_a_difference_is_named() -> None:
    here = own_stamp()
    assert stamp_difference(here) == ""
    assert "other code" in stamp_difference(here._replace(code="0"))
    assert "table of models" in stamp_difference(here._replace(table="0"))
    assert "settings" in stamp_difference(here._replace(models="0"))
    assert CodeStamp("1", "a", "b", "c").difference(CodeStamp("2", "d", "b", "c")) == "other code: 2 (d), here 1 (a)"
