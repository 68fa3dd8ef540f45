"""Sessions of the store that no proxy recorded, listed like those of agents."""

from __future__ import annotations

from pathlib import Path

from proxy.conftest import Recording, answered, claude, said, user
from session.test_looking import LibraryAgent
from workbench import Context
from workbench.config.folders import work_folder
from workbench.sources.all_agents import running_now, sessions_here, with_report
from workbench.sources.services import Services
from workbench.sources.stored_sessions import OWN, chosen_window, stored_sessions, written_sessions


def test_a_program_with_a_store_runs_while_it_has_its_session_open(services: Services, project: Path) -> None:
    assert written_sessions(services) == []
    agent = LibraryAgent()
    [found] = running_now(services, str(project)).sessions
    assert (found.agent.startswith("python"), found.title, found.folder) == (True, "bot", str(project))
    assert found.id == found.ref == services.store.info("bot").id
    agent.end()
    assert running_now(services, str(project)).sessions == []
    [over] = stored_sessions(services, str(project))
    assert (over.agent, over.title, over.own) == (OWN, "bot", True)


def test_what_this_process_writes_itself_is_not_running_elsewhere(services: Services, project: Path) -> None:
    with services.store.create(title="mine", folder=work_folder()):
        assert written_sessions(services) == []


def test_its_window_is_the_one_that_it_was_given(services: Services, project: Path) -> None:
    with Context(model="gpt-4o", store="bot", window=16_000) as context:
        context.add("go")
        context.request()
        context.report({"prompt_tokens": 4_000, "completion_tokens": 3})
    [found] = stored_sessions(services, str(project))
    report = with_report(services, found).report
    assert report is not None
    assert (report.prompt, report.window) == (4_000, 16_000)


def test_a_folder_has_each_session_once(services: Services, project: Path) -> None:
    recording = Recording(services.store, client="oa.py", folder=work_folder())
    recording.pass_through("/v1/messages", claude(user("look")), answered(said("done")))
    recording.sessions.close()
    services.store.create(title="mine", folder=work_folder()).close()
    services.store.create(title="elsewhere").close()
    found = sessions_here(services, str(project))
    assert [each.title for each in found] == ["mine", "look"]
    assert [(each.passed, each.own) for each in found] == [(False, True), (True, False)]
    assert sessions_here(services, str(project), found[0].modified + 1) == []


def test_a_session_that_was_given_no_window_has_that_of_its_model(services: Services, project: Path) -> None:
    with Context(model="gpt-4o", store="bot") as context:
        context.add("go")
    [found] = stored_sessions(services, str(project))
    assert chosen_window(services.store, found) == 0
