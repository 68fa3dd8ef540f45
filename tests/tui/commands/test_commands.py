"""What the commands do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from support.requirements import requirement
from tui.play import SMALL, Script, answer, program, settle, shown, told, typed, until
from tui.screens.looking import look, seen
from workbench.log.events import UserMessage
from workbench.sources.services import Services
from workbench.tui.commands.palette import CommandHits
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.commands.session import new_file
from workbench.tui.compaction.descriptions import next_line
from workbench.tui.messages import Send
from workbench.tui.widgets.help import HelpScreen
from workbench.tui.widgets.report import ReportScreen

pytestmark = pytest.mark.usefixtures("project")


async def test_what_cannot_be_done_now_says_why(services: Services, talk: Path) -> None:
    async with program(services, SMALL, ref=str(talk)) as (pilot, screen):
        screen.run_command(REGISTRY["rename"])
        await seen(pilot, "Make a session of", "A file is read-only.")
        await pilot.press("escape")
        assert screen.model.state.read_only
        names = [str(hit.prompt) async for hit in CommandHits(screen).discover()]
        assert not any(name.startswith("rename") for name in names)


async def test_a_mistyped_command_comes_back_to_the_input(services: Services) -> None:
    async with program(services, SMALL) as (pilot, screen):
        await typed(pilot, "/tokns")
        await until(lambda: screen.chat.composer.text == "/tokns")
        assert "did you mean /tokens?" in told(pilot.app)


@requirement(
    "codex", "commands", "`/tokens` shows used and window, latest and average turn, turns remaining and threshold"
)
async def test_reports_are_read_over_the_panes(
    services: Services, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "AGENTS.md").write_text("Be brief.\n" * 5_000)
    Script(answer("A", 2_000, 30), answer("B", 2_500, 30)).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        for text in ("one", "two"):
            screen.send_or_run(Send(text))
            await settle(pilot)
        screen.run_command(REGISTRY["tokens"])
        await until(lambda: isinstance(pilot.app.screen, ReportScreen))
        await pilot.pause()
        for words in (
            "used",
            "window",
            "latest turn",
            "2,500 in, 30 out",
            "grows by 500",
            "next",
            "80 %",
            "window full",
        ):
            assert words in shown(pilot.app), words
        await pilot.press("y", "escape")
        await pilot.pause()
        assert pilot.app.screen is screen


COMPACTS = {
    "sliding": "compacts from 89,601 tokens of events since the last compaction on (70 %), or every 5 turns",
    "confirm": "compacts from 115,200 tokens of the last prompt on (90 %)",
    "codex": "compacts from 89,601 tokens on (70 %)",
    "layers": "does not compact by itself",
}


@requirement("sliding", "commands", "`/tokens` says when it compacts")
async def test_tokens_says_when_the_policy_compacts_and_agrees_with_the_panel_on_the_turns_left(
    services: Services, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("A", 2_000, 30)).play(monkeypatch)
    async with program(services, SMALL, policy="sliding") as (pilot, screen):
        screen.send_or_run(Send("one"))
        await settle(pilot)
        await until(
            lambda: screen.model.state.compaction is not None and screen.model.state.compaction.curve.turns == 1
        )
        for policy, said in COMPACTS.items():
            screen.model.switch_policy(policy)
            await settle(pilot)
            assert screen.model.state.compaction is not None
            assert screen.model.state.compaction.policy == policy
            line = next_line(screen.model.state.compaction).plain
            screen.run_command(REGISTRY["tokens"])
            await until(lambda: isinstance(pilot.app.screen, ReportScreen))
            await pilot.press("y")
            rows = dict(re.split(r" {2,}", row, maxsplit=1) for row in pilot.app.clipboard.splitlines())
            assert rows["compaction"] == f"{policy} {said}"
            assert rows["next"] == screen.model.state.compaction.next
            assert rows["next"] in line
            assert rows["window full"] == "not soon"
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is screen)


@pytest.mark.long
async def test_a_long_value_of_a_report_stands_to_the_right_of_its_name(services: Services) -> None:
    words = [f"word{number}" for number in range(40)]
    async with program(services, SMALL) as (pilot, _):
        rows = [("first", " ".join(words)), ("", "no name of its own"), ("", ""), ("the second", "[b]short")]
        await pilot.app.push_screen(ReportScreen("figures", rows))
        await settle(pilot)
        lines = [line.strip("│ ") for line in shown(pilot.app).splitlines() if "word" in line]
        starts = {line.index("word") for line in shown(pilot.app).splitlines() if "word" in line}
        assert len(lines) > 1
        assert " ".join(lines).removeprefix("first").split() == words
        assert len(starts) == 1
        other = {line.index("no name") for line in shown(pilot.app).splitlines() if "no name" in line}
        short = {line.index("[b]") for line in shown(pilot.app).splitlines() if "[b]short" in line}
        assert starts == other == short
        await pilot.press("y")
        assert pilot.app.clipboard.splitlines()[0] == f"first       {' '.join(words)}"


async def test_instructions_that_are_not_there_are_said_to_be_missing(services: Services) -> None:
    async with program(services, SMALL) as (pilot, screen):
        await look(pilot, screen, "instructions")
        await seen(pilot, "No AGENTS.md was found")


@pytest.mark.long
async def test_a_list_can_be_left_and_is_narrowed_down_by_typing(services: Services) -> None:
    for title in ("the first", "the second", "the third"):
        services.store.create([UserMessage(title)], title=title).close()
    async with program(services, SMALL) as (pilot, screen):
        screen.run_command(REGISTRY["policy"])
        await until(lambda: pilot.app.screen is not screen)
        await pilot.press("escape")
        await settle(pilot)
        state = screen.model.state
        assert (state.status.policy, pilot.app.theme, state.title) == ("workbench", "ink", "the third")
        for name, letters, is_chosen in (
            ("policy", "lay", lambda: screen.model.state.status.policy == "layers"),
            ("theme", "paper", lambda: pilot.app.theme == "paper"),
            ("model", "gpt-4.1-mini", lambda: "gpt-4.1-mini" in screen.model.state.status.model),
            ("sessions", "second", lambda: screen.model.state.title == "the second"),
        ):
            screen.run_command(REGISTRY[name])
            await until(lambda: pilot.app.screen is not screen and bool(pilot.app.screen.query(Input)))
            await pilot.pause()
            field = pilot.app.screen.query_one(Input)
            field.value = letters
            await pilot.pause()
            await pilot.press("down", "up", "enter")
            await until(lambda: pilot.app.screen is screen)
            await until(is_chosen)
            await pilot.app.workers.wait_for_complete()
            await settle(pilot)
            assert screen.model.state.status.policy == ("workbench" if name == "sessions" else "layers"), name
        assert pilot.app.theme == "paper"


async def test_arguments_are_checked(services: Services) -> None:
    async with program(services, SMALL) as (pilot, screen):
        for text, complaint in (
            ("/theme nope", "nope: no such theme; expected one of"),
            ("/hide nope", "nope: expected one of chat, context, compaction"),
            ("/pin x", "x: expected the number of an event, or two as in 12-20"),
            ("/fork x", "x: expected the number of an event"),
            ("/copy", "there is no answer to copy yet"),
            ("/set x=1", "x"),
        ):
            screen.send_or_run(Send(text))
            await pilot.app.workers.wait_for_complete()
            await settle(pilot)
            assert complaint in told(pilot.app), text


@pytest.mark.long
async def test_overrides_and_the_clipboard(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("The [b]answer.")).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        screen.send_or_run(Send("go"))
        await settle(pilot)
        screen.send_or_run(Send("/copy"))
        await pilot.app.workers.wait_for_complete()
        assert pilot.app.clipboard == "The [b]answer."
        seq = screen.model.state.transcript[len(screen.model.state.transcript) - 1].seq
        screen.send_or_run(Send(f"/pin {seq - 1}-{seq}"))
        await settle(pilot)
        standing = screen.model.state.transcript.entry_state(
            screen.model.state.transcript[screen.model.state.transcript.index_of(seq)]
        )
        assert standing is not None
        assert standing.pinned


async def test_a_name_that_no_file_can_have_is_told_and_ends_nothing(services: Services) -> None:
    services.store.create([UserMessage("kept")], title="talk").close()
    names = (("語" * 300, "cannot be written"), ("~nobody-here/talk.jsonl", "there is no folder ~nobody-here"))
    async with program(services, SMALL) as (pilot, screen):
        for name, refusal in names:
            new_file(name)
            for command, says in (("export", refusal), ("open", "no session")):
                pilot.app.clear_notifications()
                screen.send_or_run(Send(f"/{command} {name}"))
                await until(lambda says=says: says in told(pilot.app))  # type: ignore[misc]


@pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
async def test_a_session_is_exported_and_never_over_another_file(services: Services, project: Path, name: str) -> None:
    services.store.create([UserMessage("kept")], title="talk").close()
    async with program(services, SMALL) as (pilot, screen):
        for _ in range(2):
            screen.send_or_run(Send(f"/export {name}"))
            await pilot.app.workers.wait_for_complete()
            await settle(pilot)
        assert "already exists" in told(pilot.app)
        screen.send_or_run(Send("/export nowhere/at/all.json"))
        await pilot.app.workers.wait_for_complete()
        await settle(pilot)
        assert "there is no folder nowhere/at" in told(pilot.app)
    text = (project / name).read_text()
    assert "kept" in text
    assert name.endswith("l") or json.loads(text)["messages"][-1]["content"] == "kept"


async def test_a_session_is_exported_in_every_form_and_its_secrets_are_masked_if_asked(
    services: Services, project: Path
) -> None:
    services.store.create([UserMessage("the key is sk-abcdefghijklmnopqrstuvwxyz")], title="talk").close()
    async with program(services, SMALL) as (pilot, screen):
        for asked in ("page.html --redact", "plain.html", "log.jsonl --redact", "messages.json --redact"):
            screen.send_or_run(Send(f"/export {asked}"))
            await pilot.app.workers.wait_for_complete()
            await settle(pilot)
        assert "1 secret masked" in told(pilot.app)
    page, plain = ((project / name).read_text() for name in ("page.html", "plain.html"))
    assert page.startswith("<!doctype html>")
    assert "the key is [redacted]" in page
    assert "abcdefghij" not in page
    assert "abcdefghij" in plain
    for name in ("log.jsonl", "messages.json"):
        text = (project / name).read_text()
        assert "the key is [redacted]" in text
        assert "abcdefghij" not in text


async def test_the_help_says_where_to_look_then_the_keys_here_then_commands_and_other_keys(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "config.toml").write_text('[keys]\nview-context = "f11"\n')
    with Services() as services:
        async with program(services, (120, 30)) as (pilot, screen):
            for key, pane, here in (("f2", "chat", "Enter"), ("f11", "context", "p"), ("f4", "compaction", "c")):
                await pilot.press(key)
                await settle(pilot)
                await pilot.press("f1")
                await until(lambda: isinstance(pilot.app.screen, HelpScreen))
                await settle(pilot)
                lines = str(pilot.app.screen.query_one("#help-text", Static).render()).splitlines()
                assert lines[0] == "where to look"
                keys = lines.index(f"{pane}: the keys here")
                assert keys == lines.index("") + 1
                first = lines[keys + 1 : lines.index("", keys)]
                assert 5 <= len(first) <= 14
                assert any(line.split()[0] == here or here in line.split()[:3] for line in first), first
                places = [lines.index(title) for title in ("commands: conversation", "keys: chat", "editing keys")]
                assert places == sorted(places)
                if pane == "chat":
                    assert any(line.split() == ["Enter", "send", "the", "message"] for line in first)
                    assert any(line.startswith("F11 ") and line.endswith(" context") for line in first)
                await pilot.press("escape")
                await until(lambda: pilot.app.screen is screen)


@pytest.mark.long
@requirement("confirm", "commands", "`/compact` is in the help")
async def test_the_help_lists_all_commands_and_is_searched(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        await pilot.press("f1")
        await until(lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.pause()
        helped = pilot.app.screen
        assert isinstance(helped, HelpScreen)
        await until(lambda: "what fills the context" in shown(pilot.app))
        whole = str(helped.text.render())
        for command in REGISTRY.commands:
            for word in command.help.split():
                assert word in whole
        assert "/compact " in whole
        assert "keys: chat" in whole
        assert "⚑" in whole
        assert all(len(line) <= 80 for line in shown(pilot.app).splitlines())
        assert whole.startswith("where to look")
        await pilot.press("pagedown")
        await until(lambda: helped.page.scroll_y == helped.page.size.height - 1, lambda: "not a page")
        await pilot.press("pageup")
        await until(lambda: helped.page.scroll_y == 0)
        await pilot.press(*"threshold")
        await pilot.pause()
        assert "/tokens" in shown(pilot.app)
        assert "/rename" not in str(helped.text.render())
        await pilot.press(*"zzz")
        await pilot.pause()
        assert "nothing matches" in shown(pilot.app)
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen is screen


@pytest.mark.long
async def test_the_help_knows_the_words_of_a_question_and_no_key_means_two_things(services: Services) -> None:
    async with program(services, (120, 30)) as (pilot, _):
        await pilot.press("f3")
        await settle(pilot)
        await pilot.press("f1")
        await until(lambda: isinstance(pilot.app.screen, HelpScreen))
        await settle(pilot)
        helped = pilot.app.screen
        assert isinstance(helped, HelpScreen)
        for title, rows in helped._sections():
            keys = [key for what, _ in rows for key in what.replace("Page ", "Page").split()]
            twice = {key for key in keys if keys.count(key) > 1}
            assert not twice or not title.startswith("keys: "), (title, twice)
        (here, first), *_ = helped._sections()
        assert all(len(text.split()) > 1 for keys, text in first if len(keys) == 1), here
        await pilot.press("end")
        await until(lambda: helped.page.scroll_y == helped.page.max_scroll_y > 0)
        await pilot.press("home")
        await until(lambda: helped.page.scroll_y == 0)
        for asked in ("disappear", "fact", "fact gone", "lost", "estimate", "another policy", "agent cut", "reported"):
            helped.query_one(Input).value = asked
            await settle(pilot)
            assert "where to look" in str(helped.text.render()), asked


@pytest.mark.long
async def test_of_a_context_that_shrinks_the_report_says_so_everywhere(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("A", 2_000, 30), answer("B", 1_800, 30)).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        for text in ("one", "two"):
            screen.send_or_run(Send(text))
            await settle(pilot)
        screen.run_command(REGISTRY["tokens"])
        await until(lambda: isinstance(pilot.app.screen, ReportScreen))
        await pilot.press("y")
        assert "the context shrinks by 200 a turn" in pilot.app.clipboard
        assert "not soon: the context does not grow" in pilot.app.clipboard
        assert "not known" not in pilot.app.clipboard
