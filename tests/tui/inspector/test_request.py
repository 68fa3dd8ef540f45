"""The request as it will be sent, and the ledger."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.requirements import requirement
from support.waiting import GIVE_UP
from tui.inspector.host import BODIES, CATALOGUE, Host, Model, host, lines_of, press, settle, setup, type_in
from tui.play import told, until
from tui.small_app import screen_of
from workbench.config.text import when
from workbench.config.values import replace
from workbench.context.render import render_request
from workbench.log.events import Compaction, Usage, UserMessage
from workbench.models.ledger import Ledger
from workbench.tui.inspector.account import EMPTY, AccountScreen, account_page, exact_dollars
from workbench.tui.inspector.request import RequestScreen, as_curl, request_json

MODEL = Model()


def test_the_json_is_what_goes_over_the_wire() -> None:
    plan = MODEL.plan()
    assert json.loads(request_json(plan)) == render_request(plan)


def test_the_command_sends_the_same_body_and_holds_no_key(tmp_path: Path) -> None:
    plan = MODEL.plan()
    command = as_curl(plan)
    assert "sk-" not in command
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$1" "$3" > "$OUT.args"\ncat > "$OUT"\n', "utf-8")
    fake.chmod(0o755)
    out = tmp_path / "body"
    env = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "OUT": str(out),
        "OPENAI_API_KEY": "sk-secret",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    }
    subprocess.run(["sh", "-c", command], env=env, check=True, timeout=GIVE_UP)
    assert json.loads(out.read_text("utf-8")) == render_request(plan)
    assert Path(f"{out}.args").read_text("utf-8").split("\n")[:2] == [
        "http://127.0.0.1:1/v1/chat/completions",
        "Authorization: Bearer sk-secret",
    ]


async def test_the_screen_shows_both_forms_searches_and_copies() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "w")
        screen = app.screen
        assert isinstance(screen, RequestScreen)
        assert "the request as it will be sent · [JSON] · f shows it as curl" in screen_of(app)
        assert "● fits  1,289 tokens" in screen_of(app)
        assert lines_of(screen.reader.view)[1].strip() == '"model": "gpt-4o",'
        await press(pilot, "slash")
        await type_in(pilot, "gamma", "enter")
        assert screen.reader.foot.content.plain.startswith("match 1 of 350")
        await press(pilot, "y")
        assert json.loads(app.clipboard) == render_request(MODEL.plan())
        await press(pilot, "f")
        assert "[curl]" in screen_of(app)
        await press(pilot, "home")
        assert lines_of(screen.reader.view)[0].startswith("curl ")
        await press(pilot, "f", "q")
        assert not isinstance(app.screen, RequestScreen)


async def test_it_is_written_to_a_new_file_and_never_over_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "w")
        assert "s writes it to a file" in screen_of(app)

        async def save(name: str, said: str) -> None:
            await pilot.press("s")  # whoever waits for all work here waits for an answer
            await until(lambda: name in screen_of(app))
            await pilot.press("enter")
            await until(lambda: said in told(app))

        await save("request-next.json", "bytes written to request-next.json")
        assert json.loads((tmp_path / "request-next.json").read_text()) == render_request(MODEL.plan())
        await press(pilot, "f")
        await save("request-next.sh", "bytes written to request-next.sh")
        assert (tmp_path / "request-next.sh").read_text() == as_curl(MODEL.plan())
        (tmp_path / "request-next.sh").write_text("mine")
        await save("request-next.sh", "already exists")
        assert (tmp_path / "request-next.sh").read_text() == "mine"


async def test_a_request_that_does_not_fit_says_that_it_is_not_sent() -> None:
    app = host(Model(BODIES, setup("confirm", window=600)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "w")
        assert "● does not fit: it is not sent" in screen_of(app)


async def test_a_long_request_is_written_in_a_thread_and_one_of_the_past_says_so() -> None:
    model = Model(BODIES, setup("workbench", window=200_000))
    app = host(model)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "[", "w")
        assert "request 8, as it was sent" in screen_of(app)
        screen = app.screen
        assert isinstance(screen, RequestScreen)
        assert json.loads(screen.reader.view.page.copy) == render_request(model.plan(27))


# The ledger


def said(by: str, ledger: Ledger | None = MODEL.ledger) -> str:
    return "\n".join(line.text for line in account_page(ledger, "gpt-4o", by, requests=MODEL.requests.marks).lines)


def test_the_account_adds_up() -> None:
    text = said("request")
    total = MODEL.ledger.total
    assert f"counted {total.estimate:,} + unattributed +80 = reported {total.prompt:,} prompt tokens" in text
    assert "8 requests in 2 turns: $0.0" in text
    assert "calibration: learnt from" in text
    assert "the context grows by +43 tokens a turn\nall to gpt-4o\n" in text
    lines = text.split("\n")
    head = next(at for at, line in enumerate(lines) if line.lstrip().startswith("request "))
    assert lines[head + 1].split()[:5] == ["8", "2", "1,620", "1,633", "+13"], "the newest first"
    assert lines[head + 4].split()[:4] == ["5", "1", "1,500", "nothing"], "what was not reported is not made up"


@requirement(
    "codex",
    "shown",
    "the number of turns and an estimate of the next answer are shown",
    decided="the ledger has a line for each turn; the room kept for an answer stands for its estimate",
)
def test_the_account_by_turn_has_a_line_for_all() -> None:
    lines = said("turn").split("\n")
    clock = when(MODEL.ledger.total.last_at).split()
    assert lines[-1].split()[:5] == ["all", *clock, "8", f"{MODEL.ledger.total.estimate:,}"]
    assert [lines[-3].split()[at] for at in (0, 3)] == ["2", "1"]
    assert [lines[-2].split()[at] for at in (0, 3)] == ["1", "7"]


@requirement("codex", "counting", "the account of a turn has the time at which it was recorded")
@requirement("codex", "counting", "the account of a turn has a total of input and output")
def test_the_account_by_turn_has_a_total_and_clock_times() -> None:
    lines = said("turn").split("\n")
    head = next(line for line in lines if line.lstrip().startswith("turn")).split()
    for line, (turn, sums) in zip(lines[-2:-4:-1], sorted(MODEL.ledger.turns.items()), strict=True):
        found = line.split()
        assert found[0] == str(turn)
        assert " ".join(found[1:3]) == when(sums.last_at)
        # The clock is two words, so that what is behind it is one further on.
        assert found[head.index("total") + 1] == f"{sums.prompt + sums.completion:,}"
    assert max(sums.last_at for sums in MODEL.ledger.turns.values()) == MODEL.ledger.total.last_at > 0


@requirement("codex", "counting", "the account of a turn says whether a compaction happened in it")
def test_the_account_by_turn_shows_where_a_compaction_happened() -> None:
    assert "compacted" not in said("turn")
    bodies = [*BODIES, Compaction(1, 4, "so far"), UserMessage("on"), replace(BODIES[-1])]
    lines = said("turn", Model(bodies).ledger).split("\n")
    head = next(at for at, line in enumerate(lines) if line.lstrip().startswith("turn"))
    assert lines[head].split()[-1] == "compacted"
    marked = {line.split()[0]: line.split()[-2:] for line in lines[head + 1 :] if "◆" in line}
    assert marked == {"2": ["◆", str(len(BODIES) + 1)]}


def test_an_account_without_requests_says_so() -> None:
    assert said("request", None) == EMPTY
    assert said("turn", Ledger(CATALOGUE)) == EMPTY


def test_a_cost_that_nobody_knows_is_a_question_mark() -> None:
    assert (exact_dollars(None), exact_dollars(0.5)) == ("?", "$0.5000")
    unknown = Model([replace(body, model="nobody/knows") if isinstance(body, Usage) else body for body in BODIES])
    assert "8 requests in 2 turns: cost unknown: no price is known for nobody/knows" in said("request", unknown.ledger)
    assert "$" not in said("turn", unknown.ledger)
    first, *rest = [body for body in BODIES if isinstance(body, Usage)]
    some = Model([body if body in rest else replace(first, model="nobody/knows") for body in BODIES])
    assert "unknown" in said("turn", some.ledger)


def test_several_models_have_a_column() -> None:
    last = BODIES[-1]
    assert isinstance(last, Usage)
    bodies = [*BODIES, replace(last, model="gpt-4o-mini")]
    assert "gpt-4o-mini" in said("request", Model(bodies).ledger).split("\n")[-9]


def test_a_long_account_begins_with_the_newest() -> None:
    assert len(account_page(MODEL.ledger, "gpt-4o", "request", 300).lines) < len(
        account_page(MODEL.ledger, "gpt-4o", "request").lines
    )


def test_the_account_fits_eighty_columns() -> None:
    assert max(len(line) for line in said("request").split("\n")[6:]) <= 78


async def test_the_account_is_told_by_request_or_by_turn() -> None:
    app: Host = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "a")
        screen = app.screen
        assert isinstance(screen, AccountScreen)
        assert "the ledger · [by request] · t shows it by turn" in screen_of(app)
        await press(pilot, "t")
        assert "[by turn]" in screen_of(app)
        assert "all" in "\n".join(lines_of(screen.reader.view))
        await press(pilot, "t", "q")
        assert not isinstance(app.screen, AccountScreen)
