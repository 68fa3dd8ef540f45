"""The audit: what counts as kept, what as lost, and the way to get it back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import logs
from support.ranges import range_of, range_of_log
from support.requirements import requirement
from support.talk import named_turns, preset
from workbench.compaction.audit import HEADING, audit_summary, summary_with_lost
from workbench.compaction.values import CompactionRefused, Fact, SelectedRange, SummaryAudit
from workbench.log.events import AssistantMessage, Body, Compaction, Event, UserMessage


def everything(bodies: Sequence[Body]) -> SelectedRange:
    """All that these bodies say."""
    return range_of([*bodies, *named_turns([1])], preset("confirm"))


def audited(text: str, summary: str) -> SummaryAudit:
    """The audit of a summary of what a user said."""
    return audit_summary(everything([UserMessage(text)]), summary)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("edit src/app.py", "`src/app.py` was edited"),
        ("edit src/app.py", "changed **src/app.py:12**."),
        ("edit /home/ann/src/app.py", "edited src/app.py"),
        ("edit /home/ann/src/app.py", "edited `app.py`"),
        ("see https://example.org/a/", "see <https://example.org/a>"),
        ("call load_policy() now", "calls `load_policy`"),
        ("use context.load_policy", "uses Context.load_policy()"),
        ("use load_policy", "uses context.load_policy(name)"),
        ("it takes 1,500 MB", "it takes 1500MB"),
        ("it takes 70%", "it takes 70 %"),
        ("fails with KeyError", "a `keyerror` was raised"),
        ("fixed in 1a2b3c4d5e6f", "the fix is 1a2b3c4"),
        ("fixed in 1a2b3c4", "the fix is 1a2b3c4d5e6f"),
        ('he said "not on  Fridays"', "he said: not on *Fridays*"),
        ("You must never push to the main branch.", "- The user insists: never push to the main branch"),
        ("- [ ] write the parser tests", "Open: parser tests to write"),
    ],
)
def test_trivial_differences_are_no_loss(text: str, summary: str) -> None:
    found = audited(text, summary)
    assert (found.lost, found.score) == ((), 1.0)
    assert found.kept


@requirement(
    "window", "summary", "a summary loses some detail", decided="it does; lost details are listed and can be put back"
)
@pytest.mark.parametrize(
    ("text", "summary", "lost"),
    [
        ("edit src/app.py", "a file was edited", "src/app.py"),
        ("edit src/app.py", "edited src/App.py", "src/app.py"),
        ("edit src/app.py", "edited src/app.pyc and src/my_app.py", "src/app.py"),
        ("it takes 1,500 MB", "it takes 11500 MB", "1500 MB"),
        ("use load_policy", "uses load_policy_file", "load_policy"),
        ("fixed in 1a2b3c4", "the fix is 9a2b3c4", "1a2b3c4"),
        ("You must never push to the main branch.", "The user has a branch", "You must never push to the main branch."),
    ],
)
def test_what_the_summary_does_not_say_is_lost(text: str, summary: str, lost: str) -> None:
    found = audited(text, summary)
    assert [fact.text for fact in found.lost] == [lost]
    assert found.score == 0.0


def test_a_shortened_path_counts_only_when_it_is_unambiguous() -> None:
    found = audited("compare lib/app.py and src/app.py", "both app.py were compared")
    assert [fact.text for fact in found.lost] == ["lib/app.py", "src/app.py"]


def test_each_fact_names_the_event_it_came_from_and_the_score_is_the_share_kept() -> None:
    found = audit_summary(everything([UserMessage("edit src/app.py"), AssistantMessage("then lib/b.py")]), "src/app.py")
    assert found == SummaryAudit(0.5, (Fact("src/app.py", "path", "e00001"),), (Fact("lib/b.py", "path", "e00002"),))


def test_what_a_list_has_no_room_for_is_counted_where_it_is_lost() -> None:
    names = [f"src/part_{number}.py" for number in range(100)]
    found = audit_summary(
        everything([UserMessage(f"edit {name}") for name in names]), f"edited {', '.join(names[-45:])}"
    )
    assert (found.score, found.lost, found.unlisted) == (1.0, (), 55)
    assert audited("edit src/app.py", "").unlisted == 0


def test_nothing_to_lose_is_nothing_lost() -> None:
    assert audited("hello", "") == SummaryAudit(1.0, (), ())


def test_a_decision_of_the_summary_before_that_this_one_drops_is_listed() -> None:
    decision = "Money is counted in Decimal and rounded once, half up, at the end of an invoice"
    earlier = f"## Decisions\n- {decision}\n- Short one\n## Next\n- The cache stays as it is until the release"
    selected = everything([UserMessage("go on")])
    found = audit_summary(selected, "- the cache stays as it is until the release", previous=earlier)
    assert [(fact.kind, fact.text) for fact in found.forgotten] == [("statement", decision)]
    assert audit_summary(selected, f"We said: {decision.lower()}.", previous=f"- {decision}").forgotten == ()
    prose = "The parser was rewritten by hand. Every caller waits for the second answer."
    [gone] = audit_summary(selected, "Every caller waits for the second answer.", previous=prose).forgotten
    assert gone.text == "The parser was rewritten by hand."


def test_what_the_previous_summary_held_and_this_one_does_not_is_forgotten() -> None:
    log: list[Body] = [*named_turns([1]), Compaction(1, 2, "edited src/app.py and lib/b.py"), UserMessage("go on")]
    selected = everything(log)
    found = audit_summary(selected, "lib/b.py was edited")
    assert found.forgotten == (Fact("src/app.py", "path", "e00003"),)
    assert audit_summary(selected, "lib/b.py", previous="see docs/x.md").forgotten == (
        Fact("docs/x.md", "path", "e00003"),
    )
    assert audited("go", "x").forgotten == ()


def test_lost_things_can_be_added_under_a_heading() -> None:
    lost = audited("edit src/app.py; never use eval.", "nothing much").lost
    text = summary_with_lost("nothing much\n", lost)
    assert text.split("\n") == [
        "nothing much",
        "",
        HEADING,
        "",
        "- constraint: edit src/app.py; never use eval. [e00001]",
        "- path: src/app.py [e00001]",
    ]
    again = summary_with_lost(text, [Fact("lib/b.py", "path", "")])
    assert again == f"{text}\n- path: lib/b.py"
    assert summary_with_lost("as it was", []) == "as it was"


@pytest.mark.parametrize(
    "summary", [f"{HEADING}\n\n- old\n\n## Next steps\n\n- go on", f"## Earlier summary\n\n#{HEADING}\n\n- old"]
)
def test_lost_things_are_not_added_to_a_section_of_another_name(summary: str) -> None:
    text = summary_with_lost(summary, [Fact("lib/b.py", "path", "")])
    assert text == f"{summary}\n\n{HEADING}\n\n- path: lib/b.py"


facts = st.sampled_from(
    [
        "src/app.py",
        "/home/ann/src/app.py:12",
        "./run.sh",
        "https://example.org/x?y=z",
        "load_policy()",
        "self._rows",
        "--dry-run",
        "TokenCounter",
        "1,500 MB",
        "$20",
        "v1.2.3",
        "KeyError:",
        "1a2b3c4d",
        '"not on Fridays"',
        "`git push -f`",
        "You must never do that!",
        "- [ ] write tests\n",
        "Next step: ship it.",
        "Ünïcode_näme",
        "nur 3 Tage",
    ]
)
speech = st.lists(st.lists(st.one_of(facts, st.sampled_from(logs.WORDS)), max_size=8).map(" ".join), max_size=6)


@given(speech, st.lists(facts, max_size=4).map(" ".join))
def test_what_was_lost_and_added_is_kept(messages: list[str], summary: str) -> None:
    selected = everything([body for text in messages for body in (UserMessage(text), AssistantMessage(text))])
    found = audit_summary(selected, summary)
    mended = audit_summary(selected, summary_with_lost(summary, found.lost))
    assert mended.lost == ()
    assert mended.score == 1.0


@given(logs.logs(most=10), logs.texts())
def test_every_fact_is_kept_or_lost_and_the_score_is_their_share(events: list[Event], summary: str) -> None:
    try:
        selected = range_of_log(events, preset("confirm"), trigger="overflow")
    except CompactionRefused:
        return
    found = audit_summary(selected, summary)
    both = [*found.kept, *found.lost]
    assert len(set(both)) == len(both)
    assert found.score == (len(found.kept) / len(both) if both else 1.0)
    assert {fact.event for fact in both} <= {item.id for item in selected.items}
    assert found == audit_summary(selected, summary)
