"""Records on their way through the link that masks secrets: what is handed over, and what counts as done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.proxy.recorder import Recorder
from workbench.proxy.records import AskedRecord, Feedback, Record, UnreadRecord
from workbench.proxy.redacting import RedactingLink
from workbench.proxy.redaction import redacted
from workbench.proxy.routes import Route
from workbench.traces.llm_calls import LlmCall


class KeepingLink:
    """Keeps what it is given, and records nothing before the test says so."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.records: list[Record] = []
        self.sizes: list[int] = []
        self.is_full = is_full
        self.hear: Callable[[Feedback], None] = lambda feedback: None

    def start(self, hear: Callable[[Feedback], None]) -> None:
        self.hear = hear

    def put_records(self, *records: tuple[Record, Sequence[bytes]]) -> int:
        if self.is_full:
            raise OSError(28, "No space left on device")
        self.records += [record for record, _ in records]
        self.sizes.append(sum(len(part) for _, parts in records for part in parts))
        return self.sizes[-1]

    def close(self, seconds: float) -> str:
        return ""


def call(text: str) -> LlmCall:
    return LlmCall([{"role": "user", "content": text}], "Done.", "gpt", group="c")


def test_what_cannot_be_written_no_longer_waits() -> None:
    recorder = Recorder(RedactingLink(KeepingLink(is_full=True), redacted), lambda line: None, redacted)
    recorder.record_call("agent", call("hello"))
    recorder.close(60)
    assert (recorder.waiting, recorder.lost) == (0, 1)


def test_what_is_masked_and_not_yet_recorded_waits() -> None:
    link = KeepingLink()
    recorder = Recorder(RedactingLink(link, redacted), print, redacted)
    recorder.record_call("agent", call("password=" + "hunter2" * 20))
    first = recorder.waiting
    recorder.record_call("agent", call("password=" + "hunter2" * 40))
    both = recorder.waiting
    recorder.close(60)
    assert sum(link.sizes) < both == recorder.waiting
    link.hear(Feedback(done=link.sizes[0]))
    assert recorder.waiting == both - first
    link.hear(Feedback(done=sum(link.sizes)))
    assert recorder.waiting == 0


def test_a_frame_with_too_many_values_is_noted_as_unread() -> None:
    link, route = KeepingLink(), Route("openai", "openai-responses")
    masking = RedactingLink(link, redacted)
    masking.start(lambda feedback: None)
    values = ",".join("1" * 150_000)
    frame = f'{{"type": "response.create", "input": [{values}]}}'
    masking.put_records((AskedRecord(1, route, {}, 0, "frame"), [frame.encode()]))
    masking.close(60)
    assert link.records == [UnreadRecord(route, {}, "it has more than 120,000 JSON values")]
