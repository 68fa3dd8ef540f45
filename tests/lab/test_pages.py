"""The page for a browser, and Parquet."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.values import replace
from workbench.lab.figures import FIGURES, policy_figures
from workbench.lab.pages import MOST_PLOTS, lab_page
from workbench.lab.parquet import write_parquet
from workbench.lab.values import ABOUT_JUDGED, JudgedShare, LabCompaction, LabPoint, Miss, PolicyRun, SourceRun

POINTS = tuple(LabPoint(at, at * 3, 1_000 * at, True, 500, 1_000 * at - 500, int(at == 4)) for at in range(1, 6))
COMPACTION = LabCompaction(3, 9_000, 3_000, 2, 0.01)
MISS = Miss("number", "48213", 12, 3, 4)


def run(policy: str, *, window: int = 8_000, cost: float | None = 0.5) -> PolicyRun:
    return PolicyRun(policy, window, POINTS, (COMPACTION,), (MISS,), 1, 2, 3, cost, 0)


class Checked(HTMLParser):
    """Notes what a page is made of, and that all that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_a_page_may_load_and_run_nothing_and_has_no_style_but_the_one_that_its_policy_names() -> None:
    made = lab_page([SourceRun("a.json", "gpt-4o", 5, (run("recorded"), run("layers")))])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "script" not in policy[1]
    assert " style=" not in made
    assert "prefers-color-scheme: dark" in made


def test_a_page_has_a_row_and_a_bar_per_policy_and_a_line_in_every_picture() -> None:
    made = lab_page([SourceRun(name, "gpt-4o", 5, (run("recorded"), run("layers"))) for name in ("a.json", "b.json")])
    tags = Checked(made).tags
    assert "<p><p>" not in made, "a paragraph cannot hold another"
    assert tags.count("svg") == 2
    assert made.count("<title>layers</title>") == 2 * 2  # the line, and its turns where another is in the same place
    assert made.count(">tokens</text>") == 2
    assert made.count('<div class="bar">') == 2
    assert made.count("layers, request 4: 1 miss") == 2
    assert made.count("layers, before request 3: compacted 9,000 to 3,000") == 2
    assert made.count("window 8,000") == 2
    assert "prefers-color-scheme: dark" in made
    assert "@media print" in made


def test_lines_in_the_same_place_take_turns_to_be_seen() -> None:
    made = lab_page([SourceRun("a.json", "", 5, tuple(map(run, ("recorded", "layers", "codex"))))])
    turns = re.findall(r'class="line (p\d)"[^>]*stroke-dasharray="(\d+) (\d+)" stroke-dashoffset="-?(\d+)"', made)
    assert [colour for colour, *_ in turns] == ["p0", "p1", "p2"]
    long, gap, _ = map(int, turns[0][1:])
    assert gap == 2 * long
    assert [int(offset) for *_, offset in turns] == [0, long, 2 * long]
    assert "stroke-dasharray=" not in lab_page([SourceRun("a.json", "", 5, (run("layers"),))])


def test_the_window_is_a_line_where_it_is_near_and_else_only_named() -> None:
    near, far = (lab_page([SourceRun("a", "", 5, (run("layers", window=size),))]) for size in (8_000, 1_000_000))
    assert near.count('<line class="window"') == 1
    assert far.count('<line class="window"') == 0
    assert "1,000,000, is far above" in far


HOSTILE = st.text() | st.sampled_from(
    ['<script>alert("1")</script>', '"><img src=x onerror=y>', "</title>\u202e", "&lt;"]
)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_name_of_a_file_model_or_policy_is_ever_markup(source: str, policy: str, error: str) -> None:
    plain = Checked(lab_page([SourceRun("a", "m", 5, (run("p"),))], [("b", "e")]))
    hostile = lab_page([SourceRun(source, source or "m", 5, (run(policy),))], [("b", error)])
    assert Checked(hostile).tags == plain.tags
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", hostile)


def test_what_was_judged_is_a_column_of_the_page() -> None:
    judged = replace(run("layers"), judged=JudgedShare(12, 0.75, None, None))
    plain, made = (lab_page([SourceRun("a.json", "m", 5, (each,))]) for each in (run("layers"), judged))
    assert "judged" not in plain
    assert "<th>judged</th>" in made
    assert "<td>75 % of 12</td>" in made
    assert f"judged: {ABOUT_JUDGED}" in made


def test_of_very_many_sessions_the_largest_have_pictures() -> None:
    sources = [SourceRun(f"s{at}", "", at, (run("layers"),)) for at in range(MOST_PLOTS + 5)]
    made = lab_page(sources)
    assert made.count("<svg") == MOST_PLOTS
    assert ">s5<" in made
    assert ">s4<" not in made


def test_parquet_has_a_row_per_session_and_policy_and_its_requests(tmp_path: Path) -> None:
    from pyarrow.parquet import read_table  # type: ignore[import-untyped]

    path = tmp_path / "out.parquet"
    sources = [SourceRun(name, "", 5, (run("recorded"), run("layers", cost=None))) for name in ("a", "b")]
    with path.open("wb") as file:
        write_parquet(sources, file)
    rows = read_table(path).to_pylist()
    assert [(row["source"], row["policy"]) for row in rows] == [
        ("a", "recorded"),
        ("a", "layers"),
        ("b", "recorded"),
        ("b", "layers"),
    ]
    assert {name: rows[1][name] for name in FIGURES} == policy_figures(sources[0].runs[1])
    assert rows[0]["points"][3] == POINTS[3]._asdict()


def test_parquet_of_nothing_has_the_same_columns(tmp_path: Path) -> None:
    from pyarrow.parquet import read_table

    for name, sources in (("none", []), ("one", [SourceRun("a", "", 5, (run("layers"),))])):
        with (tmp_path / name).open("wb") as file:
            write_parquet(sources, file)
    none, one = (read_table(tmp_path / name) for name in ("none", "one"))
    assert none.schema == one.schema


def test_a_line_of_one_request_is_a_dot() -> None:
    def places(points: tuple[LabPoint, ...]) -> list[str]:
        one = replace(run("layers"), points=points)
        found = re.search(r'<polyline class="line p0" points="([^"]*)"', lab_page([SourceRun("a", "", 5, (one,))]))
        assert found is not None
        return found[1].split()

    first, again = places(POINTS[:1])
    assert first == again
    assert len(places(POINTS[:3])) == 3


def test_a_request_with_one_miss_is_missed() -> None:
    assert run("layers").missed_requests == 1


def test_each_of_several_sessions_has_its_figures_and_one_alone_has_those_of_the_page() -> None:
    for sessions in (1, 2, 3):
        made = lab_page([SourceRun(str(at), "", 5, (run("layers"),)) for at in range(sessions)])
        assert made.count("<summary>figures</summary>") == (0 if sessions == 1 else sessions)
