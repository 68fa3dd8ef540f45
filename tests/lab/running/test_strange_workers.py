"""A real scheduler and real workers of Dask on this machine, also such as have other code, no files, or are killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.running.cluster_sample import POLICIES, Cluster, talk
from support.held_files import held_file
from support.waiting import GIVE_UP
from workbench.cli.main import main
from workbench.config.distribution import package_folder
from workbench.lab.running.code_stamp import CodeStamp, StrangeWorker, own_stamp, stamp_difference
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.tasks import LabTask
from workbench.lab.running.workers import LabWorkers
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
def test_a_cluster_from_its_first_command_to_the_end_of_its_scheduler(
    cluster: Cluster,
    other_code: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(talk(number))
    check_the_command_finds_the_same_on_it(cluster, tmp_path, capsys)
    check_a_worker_that_joins_later_with_other_code_refuses_its_tasks(cluster, other_code)
    check_a_scheduler_that_is_killed_ends_the_command_with_one_line(cluster)


def check_the_command_finds_the_same_on_it(cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.toml").write_text('extends = "codex"\n[truncation]\nhead_lines = 7\n')
    (folder / "broken.json").write_text("[")
    call = ["lab", "broken.json", "0.json", (folder / "1.json").as_uri(), "2.json", "--policy", "mine.toml"]
    told: list[dict[str, Any]] = []
    for more in (["--jobs", "1"], ["--cluster", cluster.address, "--fresh"]):
        assert main([*call, "--policy", "layers", "--set", "masking.keep_last=2", "--json", *more]) == 0
        told.append(json.loads(capsys.readouterr().out))
    here, there = told
    assert there["sources"] == here["sources"]
    assert [row["policy"] for row in there["policies"]] == ["mine", "layers"]
    assert len(here["sources"]) == 3
    assert "broken.json: line 1" in there["failed"][0]["error"]


def check_a_worker_that_joins_later_with_other_code_refuses_its_tasks(
    cluster: Cluster, other_code: dict[str, str]
) -> None:
    task = LabTask("1.json", POLICIES)
    with LabWorkers(cluster=cluster.address) as workers, Services() as services, KeptRuns(services) as kept:
        for worker in cluster.workers:
            worker.kill()
        strange = cluster.start_worker(other_code)
        with pytest.raises(StrangeWorker, match="joined with other code"):
            list(workers.run_tasks([task], kept=kept))
        assert kept.policies_left(task) == len(POLICIES)
    strange.kill()


def check_a_scheduler_that_is_killed_ends_the_command_with_one_line(cluster: Cluster) -> None:
    cluster.start_worker()
    cluster.wait_for_workers(1)
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
    """One has other code, one is killed in the middle and another does its work, and one lacks the files."""
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
            assert "nothing was replayed" in said.err

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
            for each in partial["failed"]:
                assert each["source"] in each["error"]
                assert " (on worker tcp://127.0.0.1:" in each["error"]

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


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
def test_what_a_worker_without_the_files_could_not_read_is_read_by_another(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    for number in range(3):
        (here / f"{number}.json").write_text(talk(number))
    paths = [f"/proc/self/cwd/{number}.json" for number in (0, 1, 2, 99)]  # each process looks in its own folder
    cluster = Cluster(here, 1)
    with held_file("3.json", talk(3)) as first, held_file("4.json", talk(4)) as second:
        try:
            without_files = cluster.start_worker(folder=elsewhere)
            cluster.wait_for_workers(2)
            call = [sys.executable, "-m", "workbench", "lab", first.address, second.address, *paths, "--json"]
            process = subprocess.Popen([*call, "--cluster", cluster.address], cwd=here, stdout=subprocess.PIPE)
            reader = first.next_reader().pid
            second.next_reader()
            held, free = (second, first) if reader == without_files.pid else (first, second)
            free.let_go()  # the one without the files goes on alone
            cluster.wait_for_orders(1 + len(paths))
            held.let_go()
            found = json.loads(process.communicate(timeout=GIVE_UP)[0])
        finally:
            cluster.close()
    assert process.returncode == 0
    assert [each["source"] for each in found["sources"]] == [first.address, second.address, *paths[:3]]
    [missing] = found["failed"]
    assert missing["source"] == paths[3]
    assert missing["error"].endswith(", and neither could 1 other worker")


def test_the_same_code_has_the_same_stamp_and_a_difference_is_named() -> None:
    here = own_stamp()
    assert stamp_difference(here) == ""
    assert "other code" in stamp_difference(here._replace(code="0"))
    assert "table of models" in stamp_difference(here._replace(table="0"))
    assert "settings" in stamp_difference(here._replace(models="0"))
    assert CodeStamp("1", "a", "b", "c").difference(CodeStamp("2", "d", "b", "c")) == "other code: 2 (d), here 1 (a)"
