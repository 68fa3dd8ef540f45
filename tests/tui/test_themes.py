"""Themes: what ships is sound, what is broken is told and skipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

from support.hostile_text import TEXTS
from support.installed import installed
from tui.small_app import SmallApp
from workbench.config.errors import WorkbenchError
from workbench.config.paths import config_dir
from workbench.tui.themes import COLOURS, VARIABLES, ThemeFolder, load_themes, read_theme, shipped_folder

SOUND = 'name = "mine"\ndark = true\n' + "".join(f'{colour} = "#123456"\n' for colour in COLOURS)


def shipped() -> tuple[Theme, ...]:
    return load_themes([shipped_folder()]).themes


def test_dark_and_light_themes_ship_and_some_for_eyes_that_see_less() -> None:
    assert [(theme.name, theme.dark) for theme in shipped()] == [
        *((name, True) for name in ("contrast", "ink", "moss", "okabe")),
        *((name, False) for name in ("mist", "paper")),
    ]


def test_the_theme_of_high_contrast_has_it() -> None:
    theme = next(theme for theme in shipped() if theme.name == "contrast")
    for colour in (
        theme.foreground,
        theme.primary,
        theme.warning,
        theme.error,
        theme.success,
        theme.variables["quiet"],
    ):
        assert contrast(Color.parse(colour or ""), Color.parse(theme.background or "")) >= 7


def test_for_colour_blind_eyes_good_and_bad_differ_in_more_than_red_and_green() -> None:
    theme = next(theme for theme in shipped() if theme.name == "okabe")
    good, bad = (Color.parse(colour or "") for colour in (theme.success, theme.error))
    assert abs(good.b - bad.b) > 100


def of_256(colour: Color) -> Color:
    """What a terminal with 256 colours shows of a colour."""
    return Color(*RichColor.from_rgb(*colour.rgb).downgrade(ColorSystem.EIGHT_BIT).get_truecolor())


@pytest.mark.parametrize("seen", [lambda colour: colour, of_256], ids=["all", "256"])
@pytest.mark.parametrize("theme", shipped(), ids=lambda theme: theme.name)
def test_text_can_be_read_on_every_ground(theme: Theme, seen: Callable[[Color], Color]) -> None:
    colours = {**VARIABLES, **theme.variables}
    words = [colours[name] for name in colours if name.startswith("state-")] + [colours["quiet"]]
    words += [each or "" for each in (theme.primary, theme.foreground, theme.accent, theme.warning, theme.error)]
    for ground in (theme.background, theme.surface, theme.panel, colours["cursor"]):
        for word in words:
            assert contrast(seen(Color.parse(word)), seen(Color.parse(ground or ""))) >= 4.5, (word, ground)


def contrast(one: Color, other: Color) -> float:
    """The ratio of the WCAG."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("dark = true", "dark = 1"), "dark: expected true or false, got 1"),
        (('name = "mine"', "name = 3"), "name: expected text, got 3"),
        (('primary = "#123456"', 'primary = "blu"'), "primary: expected a colour such as #8ccf7e, got 'blu'"),
        (('primary = "#123456"', "primary = 7"), "primary: expected a colour such as #8ccf7e, got 7"),
        (('primary = "#123456"\n', ""), "primary: expected a colour such as #8ccf7e, got nothing"),
        (('primary = "#123456"', 'primary = "#123456"\nhue = "red"'), "hue: no such key; expected one of primary"),
        (("dark = true", "dark = true\nvariables = 3"), "variables: expected a table, got 3"),
        (('panel = "#123456"\n', 'panel = "#123456"\n[variables]\nslot = "red"'), "variables.slot: no such key"),
        (('name = "mine"', "name = "), "line 1: expected TOML"),
    ],
)
def test_a_broken_theme_is_told_in_a_line(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SOUND.replace(*change), "utf-8")
    with pytest.raises(WorkbenchError) as caught:
        read_theme(path)
    assert str(path) in str(caught.value)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_broken_themes_do_not_stop_sound_ones(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("name = ", "utf-8")
    (tmp_path / "b.toml").write_text(SOUND, "utf-8")
    loaded = load_themes([tmp_path, tmp_path / "nowhere"])
    assert [theme.name for theme in loaded.themes] == ["mine"]
    assert len(loaded.problems) == 1


def test_the_users_own_theme_of_the_same_name_wins(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "ink.toml").write_text(SOUND.replace("mine", "ink"), "utf-8")
    found = {theme.name: theme for theme in load_themes().themes}
    assert found["ink"].primary == "#123456"
    assert set(found) == {theme.name for theme in shipped()}


def test_a_folder_tells_when_a_theme_came_changed_or_went(tmp_path: Path) -> None:
    folder = ThemeFolder(tmp_path / "themes")
    assert "mine" not in [theme.name for theme in folder.load().themes]
    assert not folder.has_changed()
    path = tmp_path / "themes" / "mine.toml"
    path.parent.mkdir()
    for text in (SOUND, SOUND + "\n", "name ="):
        path.write_text(text)
        assert folder.has_changed()
        loaded = folder.load()
        assert ("mine" in [theme.name for theme in loaded.themes]) == (text != "name =")
        assert bool(loaded.problems) == (text == "name =")
        assert not folder.has_changed()
    path.unlink()
    assert folder.has_changed()


ODD_COLOURS = (
    *("", "auto", "auto 50%", "rgb(1e400,2,3)", "rgb(1,2)", "rgba(1,2,3,nan)", "hsl(inf,1%,1%)", "#12345", "$primary"),
    *("transparent", "ansi_red", "ansi_default", "red 50%", "9" * 5_000, f"rgb({'9' * 5_000},1,1)", "red; color: blue"),
    *("hsl(1e400,1%,1%)", "hsv(1,2%,nan%)", "rgb(-1,-1,-1)", "#ffffff00", *TEXTS),
)
VALUES = (
    st.sampled_from(ODD_COLOURS) | st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.floats()
) | st.lists(st.booleans(), max_size=3)
KEYS = st.sampled_from([*COLOURS, "name", "dark", "variables", "[b]x[/b", *(f"variables.{key}" for key in VARIABLES)])


def write_theme(path: Path, changes: dict[str, object]) -> None:
    """A sound theme with these values in place of its own."""
    made = tomlkit.parse(SOUND)
    for key, value in changes.items():
        table, _, name = key.rpartition(".")
        if table and not isinstance(made.get(table), dict):
            made[table] = tomlkit.table()
        place = made[table] if table else made
        place[name] = value
    path.write_text(tomlkit.dumps(made), "utf-8")


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_whatever_a_theme_s_file_says_it_is_a_theme_or_a_line(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("themes")
    write_theme(folder / "odd.toml", changes)
    found = load_themes([folder])
    assert len(found.themes) + len(found.problems) == 1
    for problem in found.problems:
        assert len(problem.splitlines()) == 1
        assert len(problem) < 400 + len(str(folder))
    for theme in found.themes:
        assert theme.name.isprintable()
        for key, value in {**theme.to_color_system().generate(), **theme.variables}.items():
            assert isinstance(value, str), key


@pytest.mark.parametrize("name", ["\\u001b]52;c;eA==\\u0007", "\\u202eabc", "x" * 61, " "])
def test_a_name_that_cannot_be_shown_is_told_in_a_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(SOUND.replace("mine", name))
    with pytest.raises(WorkbenchError, match="name: expected up to 60 characters that can be shown"):
        read_theme(path)


async def test_a_plug_in_s_theme_is_used_if_it_is_wanted_and_a_broken_plug_in_is_a_notice(tmp_path: Path) -> None:
    entries = {"soft": "support.plugin_parts:SOFT_THEME", "pale": "support.plugin_parts:PALE_THEME"}
    with installed(tmp_path / "site", {"themes": entries}, "soft"):
        app = SmallApp("soft")
        async with app.run_test(notifications=True) as pilot:
            assert app.theme == "soft"
            app._reload_themes()
            await pilot.pause()
            [told] = [notice.message for notice in app._notifications]
            assert told.startswith("plug-in pale of soft 1.2 (workbench.themes): pale: background: expected a colour")


async def test_odd_themes_are_shown_and_of_many_broken_ones_a_few_are_told() -> None:
    folder = config_dir() / "themes"
    folder.mkdir(parents=True)
    for number, colour in enumerate(ODD_COLOURS):
        write_theme(folder / f"{number}.toml", {"name": f"[b]{number}[/b", "panel": colour, "variables.quiet": colour})
    app = SmallApp()
    async with app.run_test(notifications=True) as pilot:
        await pilot.pause()
        told = [notice.message for notice in app._notifications]
        assert len(told) == 6
        assert told[-1].startswith("and ")
        odd = [name for name in app.available_themes if name.startswith("[b]")]
        assert 0 < len(odd) < len(ODD_COLOURS)
        for name in odd:
            app.theme = name
            await pilot.pause()
