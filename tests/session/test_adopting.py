"""Another agent's session goes on here: what that changes is said before, and is what happens then."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.play import Script, Watcher, answer, until
from tui.recorded.long_run import as_file, as_session, run
from workbench.log.events import Compaction, SlotContent
from workbench.session.adopting import adoption_changes
from workbench.session.opening import replan_session
from workbench.sources.options import Options
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_the_question_says_what_changes_and_that_is_what_happens(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(answer("fine"))
    script.play(monkeypatch)
    on = Watcher(services, as_file(tmp_path, run(12)), policy="layers")
    try:
        await on.settled()
        told = await on.ask(lambda opened: adoption_changes(services, Options(), opened))
        recorded = await on.ask(lambda opened: opened.plan.size)
        assert (told.policy, told.before) == ("layers", recorded)
        assert told.not_in_log > 0
        on.model.send("go on")
        await until(lambda: on.question is not None)
        assert told.words in on.question.detail
        on.model.answer(on.question.number, "yes")
        await until(lambda: bool(script.requests))
        await on.settled()
        assert (await on.ask(lambda opened: opened.policy), on.shown.view) == ("layers", "")
        assert told.words in [notice.text for notice in on.notices]
        planned = await on.ask(lambda opened: opened.setup.plan(opened.events[: opened.requests.marks[-1].upto]))
        said = next(row for row in planned.items if row.original == "go on")
        assert planned.size - said.tokens - planned.totals.framing == pytest.approx(told.after, abs=200)
    finally:
        await on.model.close()


@pytest.mark.parametrize("chosen", ["gpt-4o", "claude-opus-4-5"])
async def test_the_question_holds_for_a_model_that_was_chosen_for_a_file(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    Script(answer("fine")).play(monkeypatch)
    on = Watcher(services, as_file(tmp_path, run(12)))
    try:
        await on.settled()
        on.model.switch_model(chosen)
        await on.settled()
        model, shown = await on.ask(lambda opened: (opened.setup.model, opened.plan.size))
        assert model == chosen
        on.model.send("go on")
        await until(lambda: on.question is not None)
        asked = on.question.detail
        assert f"{shown:,} →" in asked
        on.model.answer(on.question.number, "yes")
        await until(lambda: bool(on.notices))
        await on.settled()
        notice = next(each.text for each in on.notices if each.text.startswith("It continues"))
        assert notice in asked
    finally:
        await on.model.close()


async def test_a_stored_session_says_it_when_a_message_is_sent(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("fine")).play(monkeypatch)
    on = Watcher(services, as_session(services, run(5)))
    try:
        await on.settled()
        told = await on.ask(lambda opened: adoption_changes(services, Options(), opened))
        on.model.send("go on")
        await until(lambda: bool(on.notices))
        await on.settled()
        assert [notice.text for notice in on.notices] == [told.words]
        assert told.words.startswith(f"It continues under workbench: {told.before:,} → {told.after:,} tokens")
    finally:
        await on.model.close()


async def test_a_window_from_the_command_line_holds_after_a_restart(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("fine"), answer("fine")).play(monkeypatch)
    first = Watcher(services, model="gpt-4o", window=23_000)
    try:
        first.model.send("hello")
        await until(lambda: len(first.transcript) > 1)
        await first.settled()
    finally:
        await first.model.close()
    second = Watcher(services)
    try:
        await second.settled()
        limits = await second.ask(lambda opened: opened.plan.limits)
        assert (limits.window, limits.window_source) == (23_000, "option")
    finally:
        await second.model.close()
    third = Watcher(services, window=31_000)
    try:
        await third.settled()
        assert (await third.ask(lambda opened: opened.plan.limits)).window == 31_000, "what is given last holds"
    finally:
        await third.model.close()


async def test_it_holds_for_a_session_that_is_made_of_a_file(services: Services, tmp_path: Path) -> None:
    on = Watcher(services, as_file(tmp_path, run(5)), window=50_000)
    try:
        await on.settled()
        await on.model.make_session()
        await on.settled()
    finally:
        await on.model.close()
    again = Watcher(services)
    try:
        await again.settled()
        assert (await again.ask(lambda opened: opened.plan.limits)).window == 50_000
    finally:
        await again.model.close()


async def test_a_summary_that_is_encrypted_is_named_before_the_session_goes_on(services: Services) -> None:
    bodies = run(5)
    sealed = [*bodies, Compaction(1, 4, "[encrypted]", meta={"made_by": "Codex", "sealed": True})]
    on, other = (Watcher(services, as_session(services, each)) for each in (sealed, bodies))
    try:
        for each in (on, other):
            await each.settled()
        told, plain = [
            (await each.ask(lambda opened: adoption_changes(services, Options(), opened))).words for each in (on, other)
        ]
        assert "The summary of the events 1 to 4 is encrypted, so the model here sees nothing of them" in told
        assert "encrypted" not in plain
    finally:
        await on.model.close()
        await other.model.close()


async def test_tools_count_as_the_agent_describes_them_until_its_session_goes_on_here(services: Services) -> None:
    custom = '{"type": "custom", "name": "exec", "description": "Run it.", "format": {"type": "text"}}'
    on = Watcher(services, as_session(services, [SlotContent("tools", "exec", custom), *run(5)]), policy="layers")
    try:
        await on.settled()
        before = await on.ask(lambda opened: opened.plan)
        here = await on.ask(lambda opened: replan_session(services, Options(), opened, as_ours=True).planner.plan())
        assert [row.text for row in before.items if row.slot == "tools"] == [custom]
        (tool,) = [row for row in here.items if row.slot == "tools"]
        assert tool.text is not None
        assert '"type": "function"' in tool.text
    finally:
        await on.model.close()
