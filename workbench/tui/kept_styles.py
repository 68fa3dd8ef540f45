"""Styles that were found once are kept: a patch of Textual, which `textual_patches` installs with the others.

`Stylesheet.apply` compares a widget, and a node for each of its component classes, with every rule that may concern it,
and sets each style again; a new screen does so several times for all its widgets. In Textual 8.2.8 this is a third of
the time of a start. Expected: rules that were found for a node are found for another one with the same types, ids,
classes and pseudo-classes on the way from the app to it, and styles that are set already cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from textual.css.model import CombinatorType, RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

MOST_KEPT = 4_000
"""Nodes with ids of their own, such as those of notifications, come again and again."""
_FLAGS = ("_has_hover_style", "_has_focus_within", "_has_order_style", "_has_odd_or_even")


class _Found:
    """What was found with the same rules."""

    def __init__(self) -> None:
        self.pseudo_classes: dict[tuple[Any, ...], tuple[Sequence[str], Sequence[str]]] = {}
        """For a type, an id and classes: those that the rules ask of such a node, and of what it is in."""
        self.rules: dict[tuple[Any, ...], tuple[RulesMap, Sequence[bool]]] = {}


@lru_cache(maxsize=32)
def _found_with(rules: tuple[RuleSet, ...]) -> _Found:
    """Every widget of a new type adds rules, so that an app has many sets of them, one after the other."""
    return _Found()


def _found(sheet: Stylesheet) -> _Found:
    known: tuple[list[RuleSet], _Found] | None = vars(sheet).get("_kept_styles")
    rules = sheet.rules
    if known is None or known[0] is not rules:
        known = rules, _found_with(tuple(rules))
        vars(sheet)["_kept_styles"] = known
    return known[1]


def _pseudo_classes(sheet: Stylesheet, node: DOMNode) -> tuple[Sequence[str], Sequence[str]]:
    own: set[str] = set()
    outer: set[str] = set()
    for name in sheet.rules_map.keys() & node._selector_names:
        for rule in sheet.rules_map[name]:
            if rule.pseudo_classes:
                for selectors in rule.selector_set:
                    asked = own  # from the end: what belongs together is asked of the node itself
                    for selector in reversed(selectors.selectors):
                        asked |= selector.pseudo_classes
                        if selector.combinator != CombinatorType.SAME:
                            asked = outer
    return tuple(own), tuple(outer)


def apply_kept_rules(sheet: Stylesheet, node: DOMNode, *, animate: bool = False, cache: object = None) -> None:
    """Set the styles of a node, from the rules for another one that no rule could tell from it."""
    found = _found(sheet)
    kind = type(node), node._id, node.classes
    if kind not in found.pseudo_classes:
        found.pseudo_classes[kind] = _pseudo_classes(sheet, node)
    asked, outer = found.pseudo_classes[kind]
    path: list[Any] = []
    each: Any = node
    while isinstance(each, DOMNode):
        path += (type(each), each._id, each.classes, *[each.has_pseudo_class(name) for name in asked])
        each, asked = each._parent, outer
    key = tuple(path)
    known = found.rules.get(key)
    if known is None:
        vars(node).pop("_rules_set", None)
        StylesheetOriginals.apply(sheet, node, animate=animate)
        rules = vars(node).get("_rules_set", ({},))[0]
        if len(found.rules) >= MOST_KEPT:
            found.rules.clear()
            found.pseudo_classes.clear()
        found.rules[key] = rules, tuple(getattr(node, flag) for flag in _FLAGS)
        if not rules:
            sheet.replace_rules(node, rules, animate=animate)
        return
    rules, flags = known
    for flag, value in zip(_FLAGS, flags, strict=True):
        setattr(node, flag, value)
    sheet.replace_rules(node, rules, animate=animate)
    sheet._process_component_classes(node)


def replace_changed_rules(sheet: Stylesheet, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
    """Set the styles of a node, unless they are set already; while styles glide, they are not."""
    styles = node.styles.base
    before: tuple[RulesMap, RulesMap | None] | None = vars(node).get("_rules_set")
    if before is not None and before[0] == rules and before[1] == styles._rules:
        node.notify_style_update()
        return
    StylesheetOriginals.replace_rules(node, rules, animate)
    vars(node)["_rules_set"] = rules, None if animate else styles.get_rules()


def style_components(sheet: Stylesheet, node: DOMNode) -> None:
    """Set the styles of a node's component classes, on the nodes that have them from the last time."""
    is_changed = False
    for component in sorted(node._get_component_classes()):
        styles = node._component_styles.get(component)
        virtual = styles.base.node if styles is not None else None
        if virtual is None:
            virtual = DOMNode(classes=component)
            virtual._attach(node)
        before = styles and styles.base.get_rules()
        sheet.apply(virtual)
        node._component_styles[component] = virtual.styles
        is_changed = is_changed or before != virtual.styles.base._rules
    if is_changed:
        node.refresh()


class StylesheetOriginals:
    """Textual's own functions that are replaced."""

    apply = Stylesheet.apply
    replace_rules = Stylesheet.replace_rules
    process_component_classes = Stylesheet._process_component_classes
