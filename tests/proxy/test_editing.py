"""A request that is edited shows which of its items leave: those that were excluded, and what leaves with them."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from support.bodies import Call, Reply, Said, Talk, talks, written
from workbench.log.events import DialectName, OwnDialect
from workbench.proxy.editing import RequestEdit
from workbench.wire.rewriting import Rewrite, items_in

DIALECTS = st.sampled_from(get_args(OwnDialect))


def edited(dialect: DialectName, talk: Talk) -> RequestEdit:
    return RequestEdit(dialect, "gpt-4o", written(dialect, talk))


@given(DIALECTS, st.lists(st.sampled_from(["a.py", "b.py"]), min_size=1, max_size=5), st.data())
def test_a_call_leaves_with_its_result_and_all_others_stay(
    dialect: DialectName, results: list[str], data: st.DataObject
) -> None:
    calls = (Reply("", "", (Call(f"c{at}", "ls", False, text),)) for at, text in enumerate(results))
    edit = edited(dialect, (Said(("look",)), *calls, Said(("go on",))))
    pairs = [[item.path for item in edit.items if item.kind == kind] for kind in ("call", "result")]
    left = data.draw(st.integers(0, len(results) - 1))
    changed = edit.changed_request(Rewrite(exclude=frozenset({data.draw(st.sampled_from(pairs))[left]})))
    assert changed.gone == {pairs[0][left], pairs[1][left]}


@given(DIALECTS, talks(), st.data())
def test_what_is_not_gone_is_still_in_the_request(dialect: DialectName, talk: Talk, data: st.DataObject) -> None:
    edit = edited(dialect, talk)
    texts = [item for item in edit.items if item.kind in ("assistant", "result")]
    if texts:
        chosen = data.draw(st.sampled_from(texts))
        changed = edit.changed_request(Rewrite(exclude=frozenset({chosen.path})))
        stays = [item.text for item in edit.items if item.path not in changed.gone]
        assert chosen.path in changed.gone
        assert [item.text for item in items_in(dialect, changed.body)] == stays
