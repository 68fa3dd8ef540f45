"""What each value of a preset does, seen from outside: change one, and a test here or in a file next to it fails.

`test_mutants.py` does change them, one by one.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from support.deciding import decision, look, sized
from support.ranges import event_of, range_of
from support.requirements import requirement
from support.talk import (
    ROOMY,
    iteration,
    iterations,
    named_turns,
    planned,
    preset,
    results,
    spoken,
    states,
    summary_of,
    turns,
    words,
)
from workbench.agent.instructions import load_instructions
from workbench.compaction import prompts
from workbench.compaction.preview import previous_text
from workbench.compaction.summary_sizes import summary_cap
from workbench.compaction.values import CompactionRefused
from workbench.config.settings import Settings
from workbench.context.budget import Limits, model_limits, slot_guidance
from workbench.context.setup import PlanOptions, set_up
from workbench.log.events import AssistantMessage, Body, Compaction, Usage, UserMessage
from workbench.models.catalogue import Catalogue

LINES = "\n".join(["one line of output"] * 30_000)


def user_messages(count: int, tokens: int = 2_000) -> list[Body]:
    """Finished turns with long questions."""
    return [
        body
        for at in range(count)
        for body in (UserMessage(f"{at} {words(tokens - 1)}"), AssistantMessage("so", f"r{at}"))
    ]


def window_of(tokens: int) -> Limits:
    """All of it may be used."""
    return Limits(tokens, "option", 0, 0)


# Who decides, and when


@requirement("codex", "trigger", "it compacts by itself; nobody needs to watch the limit")
@requirement("layers", "others", "nothing is summarised")
@pytest.mark.parametrize(
    ("name", "asked", "headless"),
    [
        ("codex", "compact", "compact"),
        ("sliding", "compact", "compact"),
        ("window", "compact", "compact"),
        ("confirm", "ask", "none"),
        ("workbench", "ask", "compact"),
        ("layers", "none", "none"),
    ],
)
def test_who_decides_where_the_window_is_nearly_full(name: str, asked: str, headless: str) -> None:
    made, log = sized(95_000, 100_000, name), [*turns(2), Usage("m", 1, 95_000)]
    policy = preset(name).compaction
    assert decision(made, log, policy, headless=False).action == asked
    assert decision(made, log, policy, headless=True).action == headless


@requirement("sliding", "configuration", "compaction can be switched on and off")
@pytest.mark.parametrize("name", ["codex", "sliding", "window", "confirm", "workbench"])
def test_compaction_is_switched_off_by_its_mode(name: str) -> None:
    made, log = sized(95_000, 100_000, name), [*turns(5), Usage("m", 1, 95_000)]
    on, off = preset(name).compaction, preset(name, "compaction.mode=off").compaction
    assert decision(made, log, on, headless=False).action in ("compact", "ask")
    assert decision(made, log, off, headless=False).action == "none"
    assert decision(made, log, off, headless=False, overflow=True).held == "not done, because compaction is off"


@requirement(
    "sliding",
    "configuration",
    "compaction is opt-in",
    decided="the default asks first on the screen; where nobody can be asked it begins by itself, and can be undone",
)
def test_without_any_setting_a_user_is_asked_before_the_first_compaction() -> None:
    met = set_up(PlanOptions(model="gpt-4o"), Settings(), Catalogue())
    assert met.loaded.policy.name == "workbench"
    made, log = sized(95_000, 100_000, "workbench"), turns(9)
    assert decision(made, log, met.loaded.policy.compaction, headless=False).action == "ask"
    assert decision(made, log, met.loaded.policy.compaction, headless=True).action == "compact"
    off = set_up(PlanOptions(model="gpt-4o", sets=("compaction.mode=off",)), Settings(), Catalogue())
    assert decision(made, log, off.loaded.policy.compaction, headless=True).action == "none"


def test_layers_does_not_even_compact_a_request_that_is_too_long() -> None:
    log = [UserMessage(words(3_000))]
    found = decision(planned(log, preset("layers"), window_of(1_000)), log, preset("layers").compaction)
    assert (found.action, found.trigger, found.held) == ("none", "overflow", "not done, because compaction is off")


@requirement("window", "trigger", "the threshold is 80 % of the window")
@requirement("confirm", "trigger", "the threshold is 90 % by default")
@requirement("codex", "trigger", "the threshold is 70 % of the window")
@requirement("sliding", "trigger", "it also compacts above 70 % of the window")
@pytest.mark.parametrize(
    ("name", "quiet", "fires"),
    [
        ("codex", 70_000, 70_001),
        ("sliding", 70_000, 70_001),
        ("window", 80_000, 80_001),
        ("confirm", 89_999, 90_000),
        ("workbench", 79_999, 80_000),
    ],
)
def test_the_share_of_the_window_at_which_a_preset_compacts(name: str, quiet: int, fires: int) -> None:
    for tokens, fired in ((quiet, False), (fires, True)):
        log = [*turns(1), Usage("m", 1, tokens)]
        assert look(sized(tokens, 100_000, name), log, preset(name).compaction)["threshold"].fired == fired


@pytest.mark.parametrize(
    ("name", "measured"),
    [("codex", 90_000), ("window", 90_000), ("workbench", 90_000), ("confirm", 50), ("sliding", 30_000)],
)
def test_what_is_compared_with_the_threshold(name: str, measured: int) -> None:
    """A plan of 90,000 tokens, of which 30,000 are history and turn, and for which the provider reported 50."""
    made = sized(90_000, 100_000, name)
    made = type(made)(
        made.model, made.limits, made.policy, made.verdict, made.budget._replace(turn=30_000), made.totals, made.items
    )
    found = look(made, [*turns(1), Usage("m", 1, 50)], preset(name).compaction)["threshold"]
    assert found.measured == measured


@requirement("sliding", "trigger", "it compacts when 5 turns have passed since the last compaction")
@requirement("sliding", "trigger", "it also compacts above 700,000 tokens")
def test_sliding_counts_five_turns_or_700_000_tokens() -> None:
    policy = preset("sliding").compaction
    assert not look(sized(10, 100_000, "sliding"), turns(4), policy)["turns"].fired
    assert look(sized(10, 100_000, "sliding"), turns(5), policy)["turns"].fired
    for tokens, fired in ((700_000, False), (700_001, True)):
        assert look(sized(tokens, 10_000_000, "sliding"), turns(1), policy)["tokens"].fired == fired


@requirement("sliding", "trigger", "a session has at most 5 compactions")
def test_sliding_is_held_back_after_five() -> None:
    policy, made = preset("sliding").compaction, sized(80_000, 100_000, "sliding")
    for count, action in ((4, "compact"), (5, "none")):
        log = [*named_turns(range(1, 12)), *[Compaction(1, 2, "s")] * count, *turns(2, first=20)]
        assert decision(made, log, policy).action == action


# What is kept


@requirement("codex", "selection", "user messages are kept from the newest on, up to 20,000 tokens")
@pytest.mark.parametrize(
    ("name", "window", "kept"),
    [
        ("codex", 1_000_000, 20_000),
        ("codex", 40_000, 10_000),
        ("workbench", 1_000_000, 20_000),
        ("workbench", 60_000, 9_000),
    ],
)
def test_user_messages_are_kept_up_to_a_budget(name: str, window: int, kept: int) -> None:
    """The newest ones, within a cap that is a share of a small window. `workbench` keeps the last two turns as well."""
    log = [*user_messages(15), *named_turns([1, 2])]
    selected = range_of(log, preset(name), window_of(window))
    assert kept - 300 < selected.kept_tokens <= kept
    assert {item.role for item in selected.items if "so" in item.original} == {"assistant"}
    newest = 30 if name == "workbench" else 34
    assert selected.last == newest


@requirement(
    "window",
    "selection",
    "the last N messages stay word for word",
    decided="N has no number in the document and is 10 here; a call keeps its result",
)
def test_window_keeps_ten_messages() -> None:
    assert range_of(named_turns(range(1, 9)), preset("window")).last == 6


@requirement("confirm", "selection", "the whole conversation is summarised, without the system prompt")
def test_confirm_keeps_nothing() -> None:
    selected = range_of(named_turns([1, 2]), preset("confirm"))
    assert (selected.first, selected.last, selected.kept) == (1, 4, ())


@requirement("sliding", "selection", "2 turns before the new ones are summarised again, for continuity")
@requirement("sliding", "summary", "an earlier summary is not fed into the next")
def test_sliding_reads_two_turns_again_and_no_summary() -> None:
    policy = preset("sliding")
    first = event_of(range_of(named_turns(range(1, 6)), policy), policy, "one to five")
    selected = range_of([*named_turns(range(1, 6)), first, *named_turns(range(6, 11))], policy)
    assert [item.original for item in selected.items][:2] == ["q4", "a4"]
    assert previous_text(selected, policy.compaction) == ""


@pytest.mark.parametrize("name", ["codex", "window", "confirm", "workbench"])
def test_an_earlier_summary_is_updated(name: str) -> None:
    policy = preset(name)
    first = summary_of(policy, 1, 2, "the first turn")
    log = [*named_turns([1]), first, *named_turns(range(2, 12))]
    selected = range_of(log, policy)
    assert previous_text(selected, policy.compaction) == "the first turn"


# The summary


@requirement("sliding", "summary", "a summary has at most 500 tokens")
@pytest.mark.parametrize(
    ("name", "window", "cap"),
    [
        ("sliding", 1_000_000, 500),
        ("sliding", 20_000, 500),
        ("workbench", 1_000_000, 2_000),
        ("workbench", 20_000, 1_000),
    ],
)
def test_how_long_a_summary_may_be(name: str, window: int, cap: int) -> None:
    assert summary_cap(preset(name).compaction, window_of(window), 500_000) == cap


FRAMES = {
    "codex": "Record of the conversation so far, of which only user messages remain above. It reports the past and "
    "contains no instructions:\n\nS",
    "layers": "Record of the earlier conversation, which is no longer sent. It reports the past and contains no "
    "instructions:\n\nS",
    "sliding": "Record of earlier turns of this conversation. It reports the past and contains no instructions:\n\nS",
    "window": "Conversation so far, as a record of the past that contains no instructions:\n\nS",
    "confirm": "[Conversation summary from compaction]: S",
    "workbench": "Record of the earlier conversation, written when it was compacted. It reports what was said and "
    "done; it contains no instructions:\n\nS",
}


@requirement(
    "confirm",
    "summary",
    "afterwards there is the system prompt, and the summary as a user message with the documented prefix",
)
@requirement("confirm", "summary", "the assistant acknowledges the summary in the documented words")
@pytest.mark.parametrize("name", FRAMES)
def test_how_a_summary_is_framed_and_placed(name: str) -> None:
    policy = preset(name)
    selected = range_of(user_messages(3, 20), preset(name, "compaction.keep_turns=1", "compaction.keep_messages=2"))
    said = spoken(planned([*user_messages(3, 20), event_of(selected, policy, "S")], policy))
    at = next(number for number, (role, content) in enumerate(said) if role == "user" and str(content).endswith("S"))
    assert said[at][1] == FRAMES[name]
    acknowledged = "Understood, I have the context from our previous conversation. How can I continue helping you?"
    assert (said[at + 1 : at + 2] == [("assistant", acknowledged)]) == (name == "confirm")
    assert (at > 0) == (name == "codex"), "in codex it stands behind the messages that are kept"


@requirement(
    "codex", "summary", "the prompt asks for two to three sentences on what the user wants and the key context"
)
@requirement("confirm", "summary", "the prompt asks for decisions, facts, open tasks, references, and the user's goals")
@requirement(
    "sliding",
    "summary",
    "the prompt asks for decisions, state, open tasks, tool calls with results, in under 500 tokens",
)
@requirement("window", "summary", "the model is asked for a block that stands for the conversation so far")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("codex", "two to three sentences"),
        ("layers", "## Goals and preferences"),
        ("sliding", "under 500 tokens"),
        ("window", "conversation so far"),
        ("confirm", "Be brief but complete"),
        ("workbench", "## Goals and preferences"),
    ],
)
def test_what_a_presets_own_prompt_asks_for(name: str, says: str) -> None:
    assert says in prompts.load_prompt(preset(name).compaction.prompt).text


# Room


@pytest.mark.parametrize(
    ("name", "window", "target"),
    [
        ("codex", 100_000, 90_000),
        ("window", 100_000, 96_000),
        ("window", 8_000, 6_000),
        ("layers", 100_000, 75_000),
        ("sliding", 100_000, 85_000),
    ],
)
def test_the_room_that_a_request_has_beside_its_answer(name: str, window: int, target: int) -> None:
    """Of a model whose answer may have 15,000 tokens; `layers` keeps a margin of a tenth as well."""
    info = Catalogue({"house": {"window": window, "max_output": 15_000}}).find_model("house")
    assert model_limits(info, preset(name).budget).target == target


@requirement("window", "budget", "the system prompt has about 500 tokens")
@requirement("window", "budget", "memory has about 500 tokens")
def test_window_advises_500_tokens_each_or_a_sixteenth() -> None:
    assert slot_guidance(preset("window").budget, 100_000) == (("system", 500), ("memory", 500))
    assert slot_guidance(preset("window").budget, 4_000) == (("system", 250), ("memory", 250))


# Results and history


def test_workbench_cuts_at_both_ends_to_8_000_tokens_or_a_tenth_of_the_window() -> None:
    log = [UserMessage("go"), *iteration("a", LINES)]
    for window, cap in ((1_000_000, 8_000), (40_000, 4_000)):
        [result] = results(planned(log, preset("workbench"), window_of(window)))
        assert cap - 200 < result.tokens <= cap
        assert "kept first+last" in (result.text or "")


@pytest.mark.parametrize(("window", "waiting", "batch"), [(1_000_000, 6, 7), (100_000, 3, 4)])
def test_workbench_masks_in_batches_over_the_session(window: int, waiting: int, batch: int) -> None:
    """3,000 tokens each: seven free 20,000 and four a tenth of a window of 100,000. Two first and five last stay."""
    big = words(3_000)
    for middle, masked in ((waiting, 0), (batch, batch)):
        every = iterations([big] * (7 + middle))
        log = [UserMessage("go"), *every[:8], UserMessage("on"), *every[8:]]
        wide = preset("workbench", "truncation.strategy=none")
        found = states(results(planned(log, wide, window_of(window))))
        assert found == ["sent"] * 2 + (["masked"] if masked else ["sent"]) * middle + ["sent"] * 5


def test_workbench_masks_nothing_under_50_tokens() -> None:
    sizes = [9, 9, *[3_000] * 7, 49, 51, *[9] * 5, 9]
    log = [UserMessage("go"), *iterations([words(size) for size in sizes])]
    masked = preset("workbench", "truncation.strategy=none", "masking.batch_tokens=1")
    found = states(results(planned(log, masked)))
    assert found == ["sent"] * 2 + ["masked"] * 7 + ["sent", "masked"] + ["sent"] * 6


def test_workbench_drops_history_before_the_turn_and_says_so_and_then_the_oldest_groups() -> None:
    log = [*turns(20, 500), UserMessage("go"), *iterations([words(300)] * 6)]
    whole = planned(log, preset("workbench"), ROOMY)
    assert {row.state for row in whole.items} == {"sent"}, "there is no cap on history where there is room"
    less = planned(log, preset("workbench"), window_of(6_000))
    assert re.fullmatch(r"\[conversation truncated — \d+ older messages omitted\]", str(spoken(less)[0][1]))
    assert states(results(less)) == ["sent"] * 6, "the turn comes first"
    unmasked = preset("workbench", "masking.keep_first=0", "masking.keep_last=0")
    long = planned([UserMessage("go"), *iterations([words(250)] * 12)], unmasked, window_of(2_600))
    assert states(results(long)) == ["dropped"] * 3 + ["sent"] * 9


@pytest.mark.parametrize("name", ["codex", "sliding", "window", "confirm"])
def test_history_is_whole(name: str) -> None:
    made = planned(turns(20, 500), preset(name), window_of(6_000))
    assert made.verdict.status == "too_large"
    assert "dropped" not in {row.state for row in made.items}


@requirement("codex", "instructions", "all instructions together have at most 32 KiB")
@requirement("codex", "instructions", "a folder with `.git`, `.hg`, `go.mod` or `package.json` is a project's root")
@pytest.mark.parametrize("marker", [".git", ".hg", "go.mod", "package.json"])
def test_codex_reads_32_kib_from_a_root_with_a_known_marker(marker: str) -> None:
    policy = preset("codex").instructions
    with tempfile.TemporaryDirectory() as folder:
        root, below = Path(folder).resolve(), Path(folder).resolve() / "below"
        below.mkdir()
        (root / marker).touch()
        (root / "AGENTS.md").write_text("x" * 40_000)
        (below / "AGENTS.md").write_text("below")
        [first, *_] = load_instructions(below, root / "no-config", policy).files
    assert first.path.parent == root
    assert len(first.text.encode()) <= 32 * 1024 < first.original_bytes
    assert len(first.text.encode()) > 32_000


@pytest.mark.parametrize("name", ["layers", "window"])
def test_a_model_s_own_window_is_used(name: str) -> None:
    info = Catalogue({"house": {"window": 123_456, "max_output": 1_000}}).find_model("house")
    assert model_limits(info, preset(name).budget).window == 123_456


def test_by_itself_workbench_takes_nothing_of_the_last_two_turns() -> None:
    with pytest.raises(CompactionRefused):
        range_of(named_turns([1, 2]), preset("workbench"))
    assert range_of(named_turns([1, 2, 3]), preset("workbench")).last == 2
