"""No string on the screen is read as markup: the source says so everywhere, and a wall stands behind it.

Textual reads a string as markup in titles of borders, in most of its widgets, and where a widget draws one. So titles
are `Content`, widgets are told `markup=False`, and a widget that has no such switch is not used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import markup as textual_markup
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Button, Static

import workbench.tui
from workbench.tui.textual_patches import TextualOriginals, patch_textual, text_as_it_is

SOURCE = Path(workbench.tui.__file__).parent
TITLES = {"border_title", "border_subtitle", "tooltip", "label"}
PARSERS = {
    *(
        "markup",
        "from_markup",
        "from_text",
        "from_rich_text",
        "to_content",
        "render_str",
        "with_tooltip",
        "post_render",
    ),
    *("_border_title", "_border_subtitle", "_render_markup"),
}
"""Attributes that read markup, write it or turn it on."""
SWITCHED = {"Static", "Label", "OptionList", "Widget"}
"""Widgets that read no markup where they are told so."""
WIDGETS = {"Button", "Input", "OptionList", "Static", "TextArea", "option_list"}
"""Of Textual's own, those in which no string is markup, or can be kept from it; a button, as its label is set later."""
RICH = {"rich.cells", "rich.color", "rich.console", "rich.segment", "rich.style"}
"""The modules of Rich that read no markup."""


class Project:
    """What the whole source says of names: which functions give `Content`, which classes are widgets with a switch."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        nodes = [node for tree in trees for node in ast.walk(tree)]
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        self.makes_content = {
            each.name for each in functions if each.returns and ast.unparse(each.returns) == "Content"
        }
        self.classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}

    def bases(self, name: str) -> set[str]:
        """A class and all that it comes from."""
        found = self.classes.get(name)
        bases = [ast.unparse(base).partition("[")[0] for base in found.bases] if found else []
        return {name}.union(*map(self.bases, bases))

    def switches_itself(self, name: str) -> bool:
        """Whether a class of ours turns markup off in what it is made with."""
        found = [self.classes[each] for each in self.bases(name) if each in self.classes]
        calls = [node for each in found for node in ast.walk(each) if isinstance(node, ast.Call)]
        return any(ast.unparse(call.func) == "super().__init__" and is_off(call) for call in calls)


def is_off(call: ast.Call) -> bool:
    """Whether a call says `markup=False`."""
    return any(each.arg == "markup" and ast.unparse(each.value) == "False" for each in call.keywords)


def is_content(node: ast.expr, scope: ast.AST, project: Project) -> bool:
    """Whether an expression is `Content`, or a text of ours that nothing could be read from."""
    match node:
        case ast.Constant(value):
            return value is None or (isinstance(value, str) and "[" not in value)
        case ast.IfExp(_, body, orelse):
            return is_content(body, scope, project) and is_content(orelse, scope, project)
        case ast.Call(ast.Name("Content")) | ast.Call(ast.Attribute(ast.Name("Content"))):
            return True
        case ast.Call(ast.Attribute(ast.Call(ast.Name("Content")), "join")):
            return True
        case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(ast.Name("self"), name)):
            return name in project.makes_content
        case ast.Name(name):
            given = [
                each.value
                for each in ast.walk(scope)
                if isinstance(each, ast.Assign) and [ast.unparse(target) for target in each.targets] == [name]
            ]
            return bool(given) and all(is_content(each, scope, project) for each in given)
        case _:
            return False


def faults_in(tree: ast.Module, project: Project) -> Iterator[str]:
    """Where a string could be read as markup."""
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _titles(scope, project)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(_, name) if name in PARSERS:
                yield f"line {node.lineno}: .{name}"
            case ast.ImportFrom(module, names) if (module or "").startswith("rich") and module not in RICH:
                yield f"line {node.lineno}: from {module}"
            case ast.ImportFrom("textual.widgets", names) if extra := {each.name for each in names} - WIDGETS:
                yield f"line {node.lineno}: {', '.join(sorted(extra))}"
            case ast.ImportFrom("textual.markup") | ast.ImportFrom("textual.visual", [ast.alias("visualize")]):
                yield f"line {node.lineno}: {ast.unparse(node)}"
            case ast.Import(names) if any(each.name.split(".")[0] in ("rich", "textual") for each in names):
                yield f"line {node.lineno}: {ast.unparse(node)}"
            case ast.Call(ast.Name(name)) if project.bases(name) & (SWITCHED - {"Widget"}) and not is_off(node):
                if not project.switches_itself(name):
                    yield f"line {node.lineno}: {name} without markup=False"
            case ast.ClassDef(name, [ast.Name("Button")]) if any(map(_has_label, ast.walk(node))):
                yield f"line {node.lineno}: {name} with a label from the beginning"
            case ast.keyword("markup", value) if ast.unparse(value) != "False":
                yield f"line {node.lineno}: markup={ast.unparse(value)}"
            case ast.ClassDef(name) if project.bases(name) & SWITCHED:
                for each in node.body:
                    if isinstance(each, ast.FunctionDef) and each.name == "render" and not _gives_content(each):
                        yield f"line {each.lineno}: {name}.render gives no Content"


def _gives_content(function: ast.FunctionDef) -> bool:
    return function.returns is not None and ast.unparse(function.returns) in ("Content", "Blank")


def _has_label(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__" and bool(node.args)


def _titles(scope: ast.FunctionDef | ast.AsyncFunctionDef, project: Project) -> Iterator[str]:
    for node in ast.walk(scope):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr in TITLES:
                value = getattr(node, "value", None)
                if value is None or isinstance(node, ast.AugAssign) or not is_content(value, scope, project):
                    yield f"line {target.lineno}: {ast.unparse(node)}"


def test_no_string_in_the_source_of_the_screen_is_read_as_markup() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path.name != "textual_patches.py"]
    trees = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in files}
    project = Project(trees.values())
    found = {name: faults for name, tree in trees.items() if (faults := [*faults_in(tree, project)])}
    assert found == {}, "make it a Content (`one_line` for a title), or pass markup=False"


@pytest.mark.parametrize(
    "wrong",
    [
        "box.border_title = name",
        "box.border_title = f'model {name}'",
        "box.border_subtitle = Content(name).markup",
        "box.border_title = '[b]bold[/b]'",
        "box.border_title += 'x'",
        "box.border_title = printable(name)",
        "box.border_title = Content(name) if name else name",
        "title = Content(name)\n    title = name\n    box.border_title = title",
        "box.tooltip = name",
        "Static(name)",
        "Static(name, markup=True)",
        "Found(name)",
        "box.notify(name, markup=True)",
        "Content.from_markup(name)",
        "Content.from_text(name)",
        "box.render_str(name)",
        "from rich.text import Text",
        "from rich.markup import render",
        "from textual.widgets import DataTable",
        "from textual.markup import to_content",
        "import rich.text",
        "class Bad(Button):\n        def __init__(self, name):\n            super().__init__(name)",
        "box.label = name",
        "class Bad(Found):\n        def render(self) -> str:\n            return name",
    ],
)
def test_the_check_finds_each_way_to_read_a_string_as_markup(wrong: str) -> None:
    tree = ast.parse(f"class Found(OptionList):\n    pass\ndef do(box, name):\n    {wrong}\n")
    assert [*faults_in(tree, Project([tree]))]


@pytest.mark.parametrize(
    "right",
    [
        "box.border_title = Content(name)",
        "box.border_title = one_line(name)",
        "box.border_title = 'compactions' if name else None",
        "title = Content(name)\n    box.border_title = title if name else Content.assemble(title, 'x')",
        "Static(name, markup=False)",
        "Safe(name)",
        "from textual.widgets import Static, OptionList",
    ],
)
def test_the_check_lets_content_pass(right: str) -> None:
    tree = ast.parse(
        "class Safe(OptionList):\n    def __init__(self):\n        super().__init__(markup=False)\n"
        f"def one_line(name) -> Content:\n    return Content(name)\ndef do(box, name):\n    {right}\n"
    )
    assert [*faults_in(tree, Project([tree]))] == []


# The wall

BRACKETS = st.text(st.sampled_from("[]/\\@=()'\" abclink#$\n") | st.characters(exclude_categories=["Cs"]), max_size=40)


@given(BRACKETS)
def test_behind_the_wall_a_string_is_the_characters_that_it_has(text: str) -> None:
    made = text_as_it_is(text)
    assert made.plain == Content(text).plain
    assert made.spans == []


class Titled(App[None]):
    """A button and a title whose strings Textual reads as markup."""

    def compose(self) -> ComposeResult:
        """Both."""
        yield Button("[@click=app.bell()]X[/]")
        yield Static("[@click=app.bell()]X[/]")

    def on_mount(self) -> None:
        """The title."""
        self.query_one(Static).border_title = "[@click=app.bell()]X[/]"


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_makes_links_of_strings_and_ours_does_not(
    is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_textual()
    monkeypatch.setattr(textual_markup, "to_content", TextualOriginals.to_content if is_plain else text_as_it_is)
    async with Titled().run_test() as pilot:
        made: list[Any] = [
            pilot.app.query_one(Button).label,
            pilot.app.query_one(Static).visual,
            pilot.app.query_one(Static)._border_title,
        ]
        for each in made:
            assert (each.plain == "X") is is_plain
            assert bool(each.spans) is is_plain


def test_what_textual_writes_as_markup_is_not_always_read_as_it_was() -> None:
    lost = [text for text in (r"\[", "[b]x[/b", "\\\\[a]") if _survives(text)]
    assert len(lost) < 3, "`Content.markup` escapes everything by now: the check on it can go"


def _survives(text: str) -> bool:
    try:
        return TextualOriginals.to_content(Content(text).markup).plain == text
    except textual_markup.MarkupError:
        return False
