"""The page of a session in a real browser: found, folded, light and dark, and nothing in it runs or loads."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.browser import Tab, browser_tab, needs_browser, running_browser
from views.test_session_page import EVIL, session, talk
from workbench.config.html_pages import html_page
from workbench.lab.pages import lab_page
from workbench.lab.values import LabPoint, PolicyRun, SourceRun
from workbench.log.events import Setting, ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.views.session_page import make_session_page

pytestmark = needs_browser
READY = "document.getElementById('rows').dataset.ready === 'yes'"
OPENED = "document.querySelectorAll('.row[open] pre').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[str]:
    """One for all tests, each with a tab of its own."""
    with running_browser() as address:
        yield address


async def until(tab: Tab, condition: str) -> None:
    """Wait until a condition holds on the page."""
    await tab.run(f"new Promise(done => {{ const look = () => {condition} ? done() : setTimeout(look, 5); look() }})")


async def click(tab: Tab, element: str) -> None:
    await tab.run(f"document.querySelector('{element}').click()")


async def change(tab: Tab, element: str, value: str | int, event: str) -> None:
    """Give a field another value, as the user does."""
    await tab.run(f"document.getElementById('{element}').value = '{value}'")
    await tab.run(f"document.getElementById('{element}').dispatchEvent(new Event('{event}'))")


@asynccontextmanager
async def shown(browser: str, source: Source, tmp_path: Path, width: int = 1200) -> AsyncIterator[Tab]:
    path = tmp_path / "page.html"
    with Services() as services:
        path.write_bytes(make_session_page(services, source).html.encode())
    async with browser_tab(browser) as tab:
        await tab.show(width, 900)
        await tab.open_file(path)
        await until(tab, READY)
        yield tab


async def typed(tab: Tab, words: str) -> None:
    """Type into the field to find something."""
    await tab.run("document.getElementById('find').focus(), document.getElementById('find').select()")
    await tab.command("Input.insertText", text=words)
    await until(tab, READY)


async def rows(tab: Tab) -> list[str]:
    found: list[str] = await tab.run("[...document.querySelectorAll('.row .what')].map(each => each.textContent)")
    return found


async def text(tab: Tab, element: str) -> str:
    return str(await tab.run(f"document.getElementById('{element}').textContent"))


async def test_rows_are_found_by_their_words_in_one_request_and_in_all(browser: str, tmp_path: Path) -> None:
    async with shown(browser, session(*talk(5)), tmp_path) as tab:
        everything = len(await rows(tab))
        await typed(tab, "RESULT 3")
        assert await text(tab, "found") == "1 found"
        assert [row.startswith("result 3") for row in await rows(tab)] == [True]
        assert await tab.run("document.querySelector('.what mark').textContent") == "result 3"
        await change(tab, "slide", 1, "input")
        assert await text(tab, "found") == "0 found"
        await change(tab, "scope", "all", "change")
        assert len(await rows(tab)) == 1
        await click(tab, ".what button")
        assert "Request 6 of 10" in await text(tab, "facts")
        await tab.command("Input.dispatchKeyEvent", type="keyDown", key="/")
        await typed(tab, "x")
        await tab.command("Input.dispatchKeyEvent", type="keyDown", key="Escape")
        await until(tab, READY)
        assert 0 < len(await rows(tab)) < everything
        assert tab.logged == []


async def test_rows_are_folded_and_unfolded(browser: str, tmp_path: Path) -> None:
    async with shown(browser, session(*talk(2)), tmp_path) as tab:
        many = len(await rows(tab))
        assert await tab.run(OPENED) == 0
        await click(tab, ".row summary")
        await until(tab, f"{OPENED} === 1")
        await click(tab, "#unfold")
        await until(tab, f"{OPENED} === {many}")
        await click(tab, "#fold")
        await until(tab, f"{OPENED} === 0")


async def test_the_timeline_steps_through_the_requests_and_the_bar_adds_up(browser: str, tmp_path: Path) -> None:
    async with shown(browser, session(*talk(3)), tmp_path) as tab:
        assert (await text(tab, "facts")).startswith("The next request")
        sizes = []
        for key in ("ArrowLeft",) * 7:
            await tab.command("Input.dispatchKeyEvent", type="keyDown", key=key)
            words = await text(tab, "facts")
            sizes.append(int(re.findall(r"([\d,]+) tokens", words)[0].replace(",", "")))
            parts = await tab.run("[...document.querySelectorAll('#key b')].map(each => each.textContent)")
            window = int(re.findall(r"of ([\d,]+)", words)[-1].replace(",", ""))
            assert sum(int(part.replace(",", "")) for part in parts) == window, words
        assert sizes == [630, 330, 420, 220, 210, 110, 110], "as reported; at the first request it stays"
        assert await tab.run("document.getElementById('earlier').disabled") is True
        box = "document.getElementById('chart').getBoundingClientRect()"
        middle = f"new MouseEvent('click', {{clientX: {box}.left + {box}.width * 0.5}})"
        await tab.run(f"document.getElementById('chart').dispatchEvent({middle})")
        assert (await text(tab, "facts")).startswith("Request 4 of 6")


def luminance(colour: str) -> float:
    """Of rgb(...), between 0 and 1."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


async def contrast(tab: Tab, element: str) -> float:
    one = await tab.run(f"getComputedStyle(document.querySelector('{element}')).color")
    other = await tab.run("getComputedStyle(document.body).backgroundColor")
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


async def test_it_is_dark_where_that_is_preferred_and_a_switch_changes_it(browser: str, tmp_path: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    async with shown(browser, session(*talk(1)), tmp_path) as tab:
        for dark in (False, True):
            await tab.show(1200, 900, dark=dark)
            assert (luminance(await tab.run(paper)) < 0.1) is dark
            for element in ("body", ".facts", ".what", ".state", "#key"):
                assert await contrast(tab, element) >= 4.5, (dark, element)
        await until(tab, "document.getElementById('theme').textContent === 'Light'")
        await click(tab, "#theme")
        assert luminance(await tab.run(paper)) > 0.9
        assert await text(tab, "theme") == "Dark"


@pytest.mark.parametrize("width", [320, 700, 1600])
async def test_nothing_is_wider_than_the_window(browser: str, tmp_path: Path, width: int) -> None:
    long = "a" * 400
    source = session(Setting("title", long), *talk(2, long), ToolCall("x", long, long, "r9"), ToolResult("x", long))
    async with shown(browser, source, tmp_path, width) as tab:
        await click(tab, "#unfold")
        await until(tab, f"{OPENED} > 3")
        assert await tab.run("document.documentElement.scrollWidth") <= width


async def test_hostile_text_is_shown_and_runs_nothing(browser: str, tmp_path: Path) -> None:
    bad = f"{EVIL}<svg onload=window.ran=1><iframe srcdoc='<script>parent.ran=1</script>'></iframe>javascript:alert(1)"
    source = session(Setting("title", bad), Setting("model", bad), *talk(2, bad), ToolCall(bad, bad, bad, bad))
    async with shown(browser, source, tmp_path) as tab:
        await click(tab, "#unfold")
        await typed(tab, "<script>")
        many = len(await rows(tab))
        assert many > 3
        await click(tab, "#unfold")
        await until(tab, f"{OPENED} >= {many}")
        assert "<script>alert(1)</script>" in await tab.run("document.querySelector('pre').textContent")
        assert "<script>alert(1)</script>" in await tab.run("document.querySelector('h1').textContent")
        assert (
            await tab.run("document.querySelectorAll('main script, main img, main svg [onload], iframe').length") == 0
        )
        assert await tab.run("typeof window.ran") == "undefined"
        assert tab.logged == []
        assert tab.asked == [(tmp_path / "page.html").as_uri()]


async def test_even_markup_that_slipped_through_could_not_run_or_load_anything(browser: str, tmp_path: Path) -> None:
    evil = (
        '<img src="http://127.0.0.1:9/x.png" onerror="window.ran=1"><script>window.ran=1</script>'
        '<style>body{color:red}</style><p style="color:red">x</p><link rel="stylesheet" href="http://127.0.0.1:9/x.css">'
    )
    path = tmp_path / "page.html"
    path.write_text(html_page("t", "body { color: green }", evil, "window.ours = 1"))
    async with browser_tab(browser) as tab:
        await tab.open_file(path)
        assert await tab.run("[typeof window.ran, window.ours]") == ["undefined", 1]
        assert await tab.run("getComputedStyle(document.querySelector('p')).color") == "rgb(0, 128, 0)"
        assert any("Content Security Policy" in each for each in tab.logged)
        try_markup = (
            "(() => { try { document.body.innerHTML = '<b>'; return 'allowed' } catch { return 'refused' } })()"
        )
        assert await tab.run(try_markup) == "refused"


async def test_the_page_of_the_lab_keeps_its_bars_under_its_policy(browser: str, tmp_path: Path) -> None:
    points = (LabPoint(1, 1, 1000, True, 250, 750, 0), LabPoint(2, 2, 1000, True, 250, 750, 0))
    runs: list[Any] = [PolicyRun(name, 8_000, points, (), (), 0, 0, 0, 0.5, 0) for name in ("recorded", "layers")]
    path = tmp_path / "lab.html"
    path.write_text(lab_page([SourceRun("a.json", "gpt-4o", 2, runs)]))
    async with browser_tab(browser) as tab:
        await tab.show(1000, 800)
        await tab.open_file(path)
        widths = await tab.run("[...document.querySelectorAll('.bar span')].map(each => each.offsetWidth)")
        assert widths[0] == pytest.approx(3 * widths[1], rel=0.02)
        assert widths[0] > 300
        assert tab.logged == []


async def test_a_long_text_is_shown_as_a_whole_on_request(browser: str, tmp_path: Path) -> None:
    async with shown(browser, session(UserMessage("word " * 50_000)), tmp_path) as tab:
        await click(tab, "#unfold")
        await until(tab, f"{OPENED} > 0")
        length = "Math.max(...[...document.querySelectorAll('pre')].map(each => each.textContent.length))"
        assert await tab.run(length) == 100_000
        await click(tab, ".open button")
        assert await tab.run(length) == 250_000
