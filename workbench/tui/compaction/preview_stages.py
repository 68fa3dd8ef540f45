"""The stages of a preview, with the texts and actions of each."""

from __future__ import annotations

from typing import Literal, NamedTuple

from workbench.compaction.values import CompactionPreview
from workbench.tui.widgets.buttons import Button

Stage = Literal["working", "refused", "look", "drafting", "draft", "accepting"]
TITLES: dict[Stage, str] = {
    "working": "preview: working out the effect…",
    "refused": "preview: nothing to do",
    "look": "nothing has been asked or changed yet",
    "drafting": "draft: being written",
    "draft": "draft: nothing is changed before you accept it",
    "accepting": "draft: being accepted",
}
BUTTONS: dict[Stage, tuple[Button, ...]] = {
    "working": (Button("escape", "leave", "leave"),),
    "refused": (Button("escape", "leave", "leave"),),
    "look": (
        Button("enter", "draft", "make the draft"),
        Button("y", "agree", "compact at once"),
        Button("d", "digest", "without a model"),
        Button("J", "judge", "judge it"),
        Button("escape", "leave", "leave"),
    ),
    "drafting": (Button("escape", "leave", "stop"),),
    "draft": (
        Button("ctrl+s", "accept", "accept"),
        Button("ctrl+l", "add", "put lost facts back"),
        Button("ctrl+r", "judge", "judge it"),
        Button("tab", "switch", "summary or facts"),
        Button("escape", "leave", "discard"),
    ),
    "accepting": (),
}


OF_A_FILE = Button("ctrl+s", "accept", "make a session of the file, and accept it there")


class AgreedCompaction(NamedTuple):
    """A compaction that the user agreed to without seeing a draft."""

    preview: CompactionPreview
    digest: bool
