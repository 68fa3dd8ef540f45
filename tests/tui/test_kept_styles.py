"""Styles that are kept are those that Textual finds, whatever happens to the widgets."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.widget import Widget

from workbench.tui import kept_styles
from workbench.tui.kept_styles import StylesheetOriginals
from workbench.tui.textual_patches import patch_textual


class Leaf(Widget, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"leaf--mark"}
    DEFAULT_CSS = """
    Leaf { height: 1; color: red; }
    Leaf.big > .leaf--mark { text-style: bold; color: green; }
    Leaf:focus .leaf--mark { color: blue; }
    """


class Styled(App[None]):
    AUTO_FOCUS = None
    CSS = """
    .outer Leaf > .leaf--mark { background: red; }
    .outer:focus-within Leaf { color: yellow; }
    Container > Leaf.big:hover, #one:focus { height: 2; }
    Container:disabled Leaf { opacity: 50%; }
    Leaf:first-child { border: solid red; }
    Leaf:odd.small { margin: 1; }
    Screen.wide Leaf { width: 7; }
    .outer.big Container:last-child .small { width: 3; color: initial; }
    #two { background: $primary; }
    Leaf:light { color: white; }
    Leaf.big.small:dark { color: $secondary; }
    """

    def compose(self) -> ComposeResult:
        for name in ("one", "two"):
            with Container(classes="outer"), Container():
                yield Leaf(id=name)
                yield Leaf(classes="small")


def styles_of(node: DOMNode) -> list[Any]:
    """What the sheet says of a node and its component classes, and what of that may change with the mouse or focus."""
    rules = {name: str(value) if name == "layout" else value for name, value in node.styles.base.get_rules().items()}
    components = {name: styles.base.get_rules() for name, styles in node._component_styles.items()}
    return [rules, components, *(getattr(node, flag) for flag in kept_styles._FLAGS)]


def found_by_textual(node: DOMNode, patch: pytest.MonkeyPatch) -> list[Any]:
    """The same from the beginning, by Textual's own functions."""
    node.styles.base.reset()
    node._component_styles.clear()
    with patch.context() as plain:
        plain.setattr(Stylesheet, "apply", StylesheetOriginals.apply)
        plain.setattr(Stylesheet, "replace_rules", StylesheetOriginals.replace_rules)
        plain.setattr(Stylesheet, "_process_component_classes", StylesheetOriginals.process_component_classes)
        node.app.stylesheet.apply(node)
    return styles_of(node)


def change(app: App[Any], chance: Random) -> None:
    """Anything that a rule may ask about."""
    nodes = [app.screen, *app.query("Container, Leaf")]
    leaf = chance.choice(list(app.query(Leaf)))
    match chance.randrange(10):
        case 0:
            app.theme = chance.choice(("textual-dark", "textual-light"))
        case 1 | 2:
            app.set_focus(leaf if leaf.focusable else None)
        case 3:
            chance.choice(nodes[1:]).disabled = True
        case 4:
            for each in nodes:
                each.disabled = False
        case 5:
            leaf.mouse_hover = not leaf.mouse_hover
        case 6:
            assert isinstance(leaf.parent, Widget)
            leaf.parent.mount(Leaf(classes="small"), before=0)
            leaf.remove()
        case _:
            chance.choice(nodes).toggle_class(chance.choice(("big", "small", "outer", "wide")))


@pytest.mark.parametrize("seed", [5, *(pytest.param(seed, marks=pytest.mark.wide) for seed in range(6, 16))])
async def test_kept_styles_are_what_textual_finds(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    patch_textual()
    chance = Random(seed)
    async with Styled().run_test(size=(40, 20)) as pilot:
        for step in range(40):
            change(pilot.app, chance)
            await pilot.pause()
            pilot.app.stylesheet.update(pilot.app)
            for node in (pilot.app, *pilot.app.screen.walk_children(with_self=True)):
                assert styles_of(node) == found_by_textual(node, monkeypatch), f"{node} after step {step}"


async def test_plain_textual_compares_the_rules_again_and_ours_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_textual()
    asked: list[object] = []
    check = Stylesheet._check_rule
    async with Styled().run_test() as pilot:
        await pilot.pause()
        sheet = pilot.app.stylesheet
        sheet.update(pilot.app)

        def checked(_: Stylesheet, *rule_and_path: Any) -> Iterable[Any]:
            asked.append(rule_and_path)
            return check(*rule_and_path)

        monkeypatch.setattr(Stylesheet, "_check_rule", checked)
        sheet.update(pilot.app)
        assert not asked
        StylesheetOriginals.apply(sheet, pilot.app.screen)
        assert asked


async def test_a_rule_that_comes_later_is_used() -> None:
    patch_textual()
    async with Styled().run_test() as pilot:
        leaf = pilot.app.query_one("#one", Leaf)
        assert leaf.styles.max_width is None
        pilot.app.stylesheet.add_source("Leaf { max-width: 5; }")
        pilot.app.stylesheet.update(pilot.app)
        assert leaf.styles.max_width is not None


async def test_not_too_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    patch_textual()
    monkeypatch.setattr(kept_styles, "MOST_KEPT", 3)
    kept_styles._found_with.cache_clear()
    async with Styled().run_test() as pilot:
        assert 0 < len(kept_styles._found(pilot.app.stylesheet).rules) <= 3


async def test_a_component_that_no_rule_concerns_any_more_loses_its_styles() -> None:
    patch_textual()
    kept_styles._found_with.cache_clear()
    async with Styled().run_test() as pilot:
        leaf = pilot.app.query_one("#one", Leaf)
        assert leaf.get_component_styles("leaf--mark").base.get_rules()
        for each in pilot.app.query(".outer"):
            each._classes.clear()
        pilot.app.stylesheet.apply(leaf)
        assert not leaf.get_component_styles("leaf--mark").base.get_rules()


async def test_the_next_app_finds_what_the_first_one_kept() -> None:
    patch_textual()
    seen = []
    for _ in range(2):
        async with Styled().run_test() as pilot:
            seen.append([styles_of(each) for each in pilot.app.query("*")])
    assert seen[0] == seen[1]
    assert any(any(flags) for _, _, *flags in seen[0])
