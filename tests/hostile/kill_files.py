"""The writers of files that kills hit: exports, imports, results of the lab, policies, settings, approvals."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path

from hostile.kill_values import Killed, Place, Say
from support.talk import words
from workbench.agent.approvals import SavedApprovals, load_saved, save_patterns
from workbench.cli.main import main
from workbench.config.paths import config_dir
from workbench.config.settings import load_settings
from workbench.context import policy_files
from workbench.context.load import load_policy
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.tasks import LabPolicy, LabTask
from workbench.log.codec import decode_event
from workbench.log.events import UserMessage
from workbench.log.store import Store
from workbench.sources.services import Services

POLICIES = ("codex", "window", "layers", "workbench")
_ENDS = {"csv": b"\n", "html": b"</html>\n", "parquet": b"PAR1"}


def _called(*arguments: object) -> str:
    """What a command prints."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as wrong:
        code = main([str(argument) for argument in arguments])
    assert code == 0, wrong.getvalue()
    return out.getvalue()


def _talk(folder: Path, number: int = 0) -> Path:
    """A short transcript."""
    path = folder / f"talk-{number}.json"
    if not path.exists():
        turns = [{"role": role, "content": f"port {4800 + number} {words(40)}"} for role in ("user", "assistant") * 4]
        path.write_text(json.dumps(turns))
    return path


def _last(heard: list[str], default: int = -1) -> int:
    """The highest number that was acknowledged; each line ends in one."""
    return max((int(line.split()[-1]) for line in heard), default=default)


# Exports and imports


def exporting(place: Place, say: Say) -> None:
    """The session to one file, again and again, while it grows."""
    session = Store.open(place.store).session(place.session)
    for number in count():
        for event in session.append(UserMessage(f"number {number} " * 50)):
            say(f"event {event.seq} {event.id}")
        _called("export", place.session, "-o", place.folder / "export.jsonl")
        say(f"exported {len(session)}")


def check_export(place: Place, heard: list[str]) -> None:
    path = place.folder / "export.jsonl"
    least = _last([line for line in heard if line.startswith("exported")], 0)
    if path.exists() or least:
        events = [decode_event(line) for line in path.read_text().splitlines()]
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), "the export has gaps"
        assert len(events) >= least, "an export that was acknowledged is gone"


def importing(place: Place, say: Say) -> None:
    """New sessions of a transcript."""
    for _ in count():
        [made] = json.loads(_called("import", _talk(place.folder), "--json"))["sessions"]
        say(f"session {made['id']} {made['events']}")


def check_import(place: Place, heard: list[str]) -> None:
    with Store.open(place.store) as store:
        here = {info.id: info.events for info in store.list(limit=100_000)}
        for line in heard:
            _, name, events = line.split()
            assert here.get(name) == int(events), f"session {name} was acknowledged and is not whole"
        for name, many in here.items():
            assert len(store.session(name, write=False).events()) == many, "a session is not whole"


# The lab


def replaying(place: Place, say: Say) -> None:
    """Results of each kind in one file of that kind, of other policies each time; what is found out is kept."""
    for number in count():
        kind, policy = tuple(_ENDS)[number % len(_ENDS)], POLICIES[number % len(POLICIES)]
        talk = _talk(place.folder, number)
        _called("lab", talk, "--policy", policy, f"--{kind}", place.folder / f"results.{kind}", "--jobs", 1)
        say(f"result {kind} {policy} {number}")


def check_results(place: Place, heard: list[str]) -> None:
    written = {line.split()[1] for line in heard}
    for kind, end in _ENDS.items():
        path = place.folder / f"results.{kind}"
        if path.exists() or kind in written:
            assert path.read_bytes().endswith(end), f"{kind}: not whole"
            assert kind != "csv" or len([*csv.DictReader(io.StringIO(path.read_text()))]) == 1, "csv: not whole"
    _check_kept(place)
    with Services() as services, KeptRuns(services) as kept:
        for line in heard:
            _, _, policy, number = line.split()
            talk = str(_talk(place.folder, int(number)))
            assert kept.policies_left(LabTask(talk, (LabPolicy(policy),), waste=True)) == 0, (
                "what was found out is not kept"
            )


def tuning(place: Place, say: Say) -> None:
    """Searches, each of which writes a policy over the last one."""
    for number in count():
        options = ("--budget", 10, "--objective", "tokens + misses", "--jobs", 1, "--seed", number, "--force")
        talks = [_talk(place.folder, each) for each in range(3)]
        _called("tune", *talks, *options, "-o", place.folder / "tuned.toml")
        say(f"tuned {number}")


def check_tuned(place: Place, heard: list[str]) -> None:
    path = place.folder / "tuned.toml"
    if path.exists() or heard:
        assert load_policy(str(path)).policy
    _check_kept(place)


def _check_kept(place: Place) -> None:
    """What the lab keeps is a sound database, once there is one: the kill may have come before."""
    path = place.folder / "cache" / "lab.db"
    if path.exists():
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# What the user sets


def setting(place: Place, say: Say) -> None:
    """The model of new sessions, in `config.toml`."""
    with Services() as services:
        for number in count(_number(load_settings().model) + 1):
            services.keep_setting("model", f"model-{number}")
            say(f"set {number}")


def check_setting(place: Place, heard: list[str]) -> None:
    assert _number(load_settings().model) >= _last(heard), "a setting that was acknowledged is gone"


def _number(name: str) -> int:
    return int(name.partition("-")[2] or "0")


def approving(place: Place, say: Say) -> None:
    """Patterns that the user allows always."""
    path = config_dir() / "approvals.toml"
    for number in count(len(load_saved(path).always)):
        save_patterns(path, SavedApprovals(always=(f"run_command:make target-{number}",)))
        say(f"allowed {number}")


def check_approvals(place: Place, heard: list[str]) -> None:
    found = load_saved(config_dir() / "approvals.toml").always
    assert [_number(each) for each in found] == list(range(len(found))), "the list has gaps"
    assert len(found) > _last(heard), "a pattern that was acknowledged is gone"


def choosing(place: Place, say: Say) -> None:
    """A policy of the user's own."""
    for number in count(max(_kept_last(), 0) + 1):
        policy_files.save_policy("mine", "workbench", {"masking.keep_last": number}, over=True)
        say(f"chosen {number}")


def check_policy(place: Place, heard: list[str]) -> None:
    assert _kept_last() >= _last(heard), "a policy that was acknowledged is gone"


def _kept_last() -> int:
    path = policy_files.policy_path("mine")
    return load_policy(str(path), env={}).policy.masking.keep_last if path.exists() else -1


KINDS = (
    Killed(exporting, check_export, most=12),
    Killed(importing, check_import, most=10),
    Killed(replaying, check_results, least=0, most=4, seconds=0.3),
    Killed(setting, check_setting),
    Killed(approving, check_approvals),
    Killed(choosing, check_policy),
    Killed(tuning, check_tuned, least=0, most=2, seconds=3.0),
)
