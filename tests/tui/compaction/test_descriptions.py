"""The panel's sentences: what comes next, what came last, and the tree."""

from __future__ import annotations

import pytest

from support.drafts import compactor, drafted, setup, work
from support.logs import number
from support.talk import turns
from tui.compaction.long_talk import talk
from tui.compaction.views import log, nested, seen, summary
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.record import CompactionEntry
from workbench.compaction.values import Fact, SummaryAudit
from workbench.config.values import replace
from workbench.log.events import Compaction, Failure, UserMessage
from workbench.tui.compaction import descriptions
from workbench.views.compaction_values import CompactionView, PastOffer, RunningCompaction, progress_text


def said(view: object) -> str:
    return descriptions.next_line(view).plain  # type: ignore[arg-type]  # a view


def test_what_comes_next_and_when() -> None:
    assert said(seen(log(talk(8)))) == "▸ compacts at 16,000 (80 %), in about 11 turns"
    assert said(seen(log(talk(8)), growth=None)).startswith("▸ compacts at 16,000 (80 %), in about ")
    sliding = setup("sliding", sets=["compaction.threshold=0"])
    assert said(seen(log(turns(2)), sliding)) == "▸ compacts after 3 more turns"


def test_a_trigger_that_fired_says_so_and_what_holds_it_back() -> None:
    asks = seen(log(talk(8)), setup(sets=["compaction.threshold=0.25"]))
    assert said(asks).startswith("? compacts next turn: asks first · 5,")
    auto = seen(log(talk(8)), setup(sets=["compaction.threshold=0.25", "compaction.mode=auto"]))
    assert said(auto).startswith("! compacts next turn · 5,")
    manual = seen(log(talk(8)), setup(sets=["compaction.threshold=0.25", "compaction.mode=manual"]))
    assert said(manual) == "○ no automatic compaction"
    again = seen(log([*talk(8), summary(3, 6)]), setup(sets=["compaction.threshold=0.25"]))
    assert said(again).startswith("‖ compaction due, but held back by the cool-down: 0 of 1 turns since event ")
    assert said(again).endswith(" >= 25 %")


def test_a_policy_without_compaction_says_so() -> None:
    layers = seen(log(talk(8)), setup("layers"))
    assert said(layers) == "○ no automatic compaction"


def last_line(view: CompactionView) -> str:
    """What the panel says of the newest compaction, where there is room for all in one line."""
    (line,) = descriptions.last_lines(view, 200)
    return line.plain


def test_no_figure_of_the_last_one_is_broken_in_two() -> None:
    view = seen(log([*talk(6), summary(3, 11)]))
    assert [line.plain for line in descriptions.last_lines(view, 62)] == [
        "#33: 41,200 → 3,150 tokens (13.1×) · kept 46 of 49 facts",
        "u undoes it",
    ]


def test_at_an_earlier_request_the_last_one_is_the_last_before_it() -> None:
    view = seen(log(nested()))  # three: #33, #44 and #50

    made = sorted(
        (branch.entry for branch in descriptions.tree_branches(view.history)), key=lambda entry: entry.event.seq
    )

    def line(last: CompactionEntry | None) -> str:
        return last_line(replace(view, past=PastOffer(7, 1_000, last=last)))

    assert line(None) == "no compaction before it · 3 came later"
    assert line(made[0]).startswith("the last before it #33: 41,200 → 3,150 tokens")
    assert line(made[1]).endswith(" · 1 came later")
    assert "later" not in line(made[2])


def test_in_a_file_the_last_one_says_whose_it_is_and_not_that_u_undoes_it() -> None:
    made = Compaction(3, 11, "so far", meta={"made_by": "Codex", "tokens_before": 95_808, "tokens_after": 13_682})
    view = seen(log([*talk(6), made]), why_read_only="a file is read-only")
    assert last_line(view) == "#33: request 95,808 → 13,682 tokens · by Codex"


def test_the_title_of_a_narrow_panel_leaves_out_what_it_names_and_not_what_it_says() -> None:
    view = seen(log(talk(8)), why_read_only="a file is read-only")
    assert descriptions.panel_title(view, 80) == "Compaction · mode confirm (asks first) · policy workbench · read-only"
    assert descriptions.panel_title(view, 60) == "Compaction · confirm (asks first) · workbench · read-only"


def test_the_last_one_in_figures() -> None:
    bodies = [*talk(6), summary(3, 11)]
    line = last_line(seen(log(bodies)))
    assert line == "#33: 41,200 → 3,150 tokens (13.1×) · kept 46 of 49 facts · u undoes it"
    bare = seen(log([*talk(6), Compaction(3, 11, "so far")]))
    assert last_line(bare) == "#33: token counts not recorded · u undoes it"
    before = seen(log([*talk(6), Compaction(3, 11, "so far", meta={"tokens_before": 75_062})]))
    assert last_line(before) == "#33: made at 75,062 tokens · u undoes it", "as other agents note it"
    assert last_line(seen(log(nested()))).endswith(" · kept 46 of 49 facts · undone by #51")


def test_where_there_is_none_it_says_why() -> None:
    assert last_line(seen([])) == "nothing to compact yet: the conversation is empty"
    only = last_line(seen(log([UserMessage("hello")])))
    assert only.startswith("nothing to compact yet: ")
    assert last_line(seen(log(talk(8)))) == "no compactions yet"
    failed = seen(log([*talk(3), Failure("compaction", "timeout: the model took too long")]))
    assert last_line(failed) == "✗ failed at event 18, timeout: the model took too long"


def test_the_tree_is_told_newest_first_with_what_each_replaced_below_it() -> None:
    view = seen(log(nested()))
    found = list(descriptions.tree_branches(view.history))
    assert [branch.entry.status for branch in found] == ["reverted", "standing", "replaced"]
    assert [branch.prefix for branch in found] == ["", "", "└ "]
    lines = [descriptions.branch_line(branch).plain for branch in found]
    assert lines[0].startswith("◇ #50 41,200 → 3,150 tokens (13.1×) · undone by #51 · events 3–40")
    assert lines[1].startswith("◆ #44 ")
    assert "· active ·" in lines[1]
    assert lines[2].startswith("└ ▪ #33 ")
    assert "replaced by #44" in lines[2]


def test_deeper_layers_are_drawn_below_each_other() -> None:
    bodies = [*talk(8), summary(3, 6), summary(8, 11), summary(3, 12), summary(3, 20)]
    prefixes = [branch.prefix for branch in descriptions.tree_branches(seen(log(bodies)).history)]
    assert prefixes == ["", "└ ", "  ├ ", "  └ "]


def test_the_status_in_full_has_triggers_history_and_metrics() -> None:
    view = seen(log([*nested(), Failure("compaction", "timeout: slow")]))
    rows = dict(descriptions.status_rows(view))
    assert rows["policy"] == "workbench; mode confirm: asks first"
    assert rows["threshold"].startswith("not yet: ")
    assert rows["history"].startswith("◇ #50")
    assert rows["failed"] == "event 52, timeout: slow"
    assert rows["made"] == "3 (1 replaced, 1 undone, 1 active); by trigger: 3 threshold"
    assert rows["failures"] == "1 timeout"
    assert rows["ratio"].startswith("13.08 to 13.08")
    empty = dict(descriptions.status_rows(seen([])))
    assert empty["history"] == "none yet"
    assert empty["made"] == "none yet"
    assert "nothing to compact: the conversation is empty" in empty["now"]
    asks = seen(log(talk(8)), setup(sets=["compaction.threshold=0.25"]))
    assert dict(descriptions.status_rows(asks))["now"].endswith("Compact conversation?")


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (CompactionProgress("selecting"), "choosing what to summarise"),
        (CompactionProgress("selecting", 41_200, 100_000), "reading 41,200 of 100,000 events"),
        (CompactionProgress("planning"), "working out what it frees"),
        (CompactionProgress("summarising", 2, 76, model="gpt-4o"), "asking gpt-4o, part 2 of 76"),
        (CompactionProgress("summarising", 1, 1, 40, "gpt-4o"), "asking gpt-4o, 40 characters"),
        (CompactionProgress("merging", 1, 1, model="gpt-4o"), "merging the parts by gpt-4o"),
        (CompactionProgress("collecting", 2_000, 99_546), "looking for facts in 2,000 of 99,546 items"),
        (CompactionProgress("summarising", 1, 1, 1_204), "summarising, 1,204 characters"),
        (CompactionProgress("summarising", 2, 3), "summarising part 2 of 3"),
        (CompactionProgress("merging", 1, 1), "merging the parts"),
        (CompactionProgress("auditing"), "checking the summary"),
    ],
)
def test_how_far_it_is(progress: CompactionProgress, expected: str) -> None:
    assert progress_text(progress) == expected
    running = RunningCompaction(progress, 100.0)
    assert descriptions.running_line(running, 112.7).plain == f"⟳ compacting: {expected} · 12 s"
    assert descriptions.running_line(replace_draft(running), 100.0).plain.startswith(("⟳ drafting: ", "⟳ preview: "))


def replace_draft(running: RunningCompaction) -> RunningCompaction:
    return running._replace(draft=True)


async def test_a_draft_says_first_what_it_loses_then_what_it_frees() -> None:
    draft = await drafted(compactor(), number(work(8)), digest=True)
    lost = tuple(Fact(f"lib/module_{at}.py", "path", "e1") for at in range(7))
    many = replace(draft, audit=SummaryAudit(0.3, draft.audit.kept[:3], lost, unlisted=285))
    rows = descriptions.draft_rows(many, 20_000)
    named = ", ".join(f.text for f in lost[:5])
    assert rows[0] == ("facts", f"keeps 3 of 10, loses 7: {named}, 2 more; 285 lesser facts besides")
    assert rows[1][1].startswith(f"{draft.preview.tokens_before:,} → {draft.tokens_after:,} of 20,000 tokens, frees ")
    assert rows[2] == ("summary", f"{draft.summary_tokens:,} tokens, by digest")
    kept = replace(draft, audit=SummaryAudit(1.0, lost, ()), text_tokens=draft.preview.summary_cap + 1)
    assert descriptions.draft_rows(kept, 20_000)[0] == ("facts", "keeps all 7")
    assert "too long: its text has " in descriptions.draft_rows(kept, 20_000)[2][1]


def test_a_view_can_be_replaced_without_making_it_anew() -> None:
    view = seen(log(talk(2)))
    assert replace(view, running=RunningCompaction(CompactionProgress("selecting"), 0.0)).history is view.history


def test_of_two_thresholds_it_is_said_which_comes_first() -> None:
    tight = seen(log(talk(8)), setup(sets=["compaction.threshold=0.95"]))
    first = tight.curve.limit
    assert first == 18_001
    assert descriptions.next_line(tight).plain.startswith(f"▸ compacts at {first:,} (")
    said = dict(descriptions.status_rows(tight))["compacts at"]
    assert said.startswith(f"{first:,} tokens, before the policy's 19,000: a longer request leaves too little")
    assert "compacts at" not in dict(descriptions.status_rows(seen(log(talk(8)))))
