"""What was said in google-adk's live and streamed sessions, as events with whole texts, and their turns."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from turnwise.schemas import adk
from turnwise.transforms.formats import adk_cases as cases

_Key = tuple[str, str]
_Fragment = tuple[int, adk.AdkEvent, str]


def by_user(event: adk.AdkEvent) -> bool:
    """Returns whether the user is the author of an event."""
    return event.author.lower() == "user"


def is_spoken(event: adk.AdkEvent) -> bool:
    """Returns whether an event holds a transcription."""
    return event.input_transcription is not None or event.output_transcription is not None


class _Words:
    """Joins pieces of words; a run of them ends where somebody else speaks, and at a call.

    Attributes:
        events: Events in order; None in place of pieces.
    """

    def __init__(self) -> None:
        self.events: list[adk.AdkEvent | None] = []
        self._runs: dict[_Key, list[list[_Fragment]]] = {}
        self._speaker = ""
        self._whole: tuple[_Key, str, bool] | None = None

    def add_piece(self, key: _Key, event: adk.AdkEvent, text: str) -> None:
        runs = self._runs.setdefault(key, [])
        if not runs or (text and self._speaker != key[1]):
            runs.append([])
        self._speaker = key[1] if text else self._speaker
        runs[-1].append((len(self.events), event, text))
        self.events.append(None)

    def add_whole(self, key: _Key, event: adk.AdkEvent, text: str) -> None:
        """Adds a whole text; it holds what the pieces before it hold, or else ends them."""
        runs = self._runs.pop(key, [])
        last = runs[-1] if runs else []
        joined = _joined(last)
        is_repeated = self._whole is not None and self._whole[:2] == (key, text) and self._speaker == key[1]
        if is_repeated and not runs and (is_spoken(event) or (self._whole and self._whole[2])):
            self.events.append(_with_text(event, "", key[1]))  # it was transcribed twice, or also written
            return
        self._whole = key, text, is_spoken(event)
        is_whole = all(piece.partial for _, piece, _ in last)
        if not is_whole and is_spoken(event) and not _holds(text, joined):
            text, is_whole = joined + text, True  # older versions: the last piece alone is finished
        for run in runs[:-1] if is_whole else runs:
            if not _holds(text, _joined(run)):
                self._join(key, run)
        self._speaker = key[1]
        self.events.append(None)
        # Words of the user stand where they began: the agent may have answered before they were whole.
        index = last[0][0] if last and key[1] == "user" else len(self.events) - 1
        self.events[index] = _with_text(event, text or joined, key[1])

    def pause(self) -> None:
        """Lets the next piece begin a run of its own."""
        self._speaker, self._whole = "", None

    def close(self, invocation: str | None, but: str = "") -> None:
        """Joins the pieces of an invocation (None: of all), but not those of one speaker."""
        self._whole = None
        for key in list(self._runs):
            if invocation in (None, key[0]) and key[1] != but:
                for run in self._runs.pop(key):
                    self._join(key, run)

    def _join(self, key: _Key, run: Sequence[_Fragment]) -> None:
        text = _joined(run)
        if text:
            index, event, _ = run[0 if key[1] == "user" else -1]
            self.events[index] = _with_text(event, text, key[1])


def _joined(run: Sequence[_Fragment]) -> str:
    """Returns the text of pieces: each goes on after the one before, or each repeats it and goes on."""
    texts = [text for _, _, text in run if text]
    is_repeating = all(after.startswith(text.rstrip()) for text, after in pairwise(texts))
    return texts[-1] if is_repeating and len(set(texts)) > 1 else "".join(texts)


def _holds(whole: str, piece: str) -> bool:
    return "".join(piece.split()) in "".join(whole.split())


def _with_text(event: adk.AdkEvent, text: str, author: str) -> adk.AdkEvent:
    """Returns an event whose text is what was said, beside what else it holds; a written one as it is."""
    if cases.text(event.content) == text:
        return event
    parts = [part for part in cases.parts_of(event.content) if not part.text]
    role = "user" if author == "user" else "model"
    content = adk.Content(role=role, parts=[*parts, adk.Part(text=text)] if text else parts)
    return event.model_copy(update={"author": author, "content": content})


def whole_events(events: Sequence[adk.AdkEvent]) -> list[adk.AdkEvent]:
    """Returns events without partial ones; what was spoken is the text of an event of its speaker.

    A finished transcription holds what the pieces before it held, as does the last event of a streamed
    answer; where it is missing, the pieces are joined. Of Live APIs that do not say that a transcription is
    finished, google-adk does at the end of a turn (2.13: `models/gemini_llm_connection.py`).
    """
    if not any(event.partial or is_spoken(event) for event in events):
        return list(events)
    words = _Words()
    for event in (half for whole in events for half in _halves(whole)):
        spoken = event.input_transcription or event.output_transcription
        author = "user" if event.input_transcription or by_user(event) else event.author
        key = event.invocation_id, author
        is_written = bool(cases.text(event.content))
        text = (spoken.text or "") if spoken and not is_written else cases.text(event.content)
        if event.partial or (spoken and not spoken.finished and not is_written):
            words.add_piece(key, event, text)
        elif text or (spoken and spoken.finished):
            words.add_whole(key, event, text)
        else:
            words.events.append(event)
            if any(part.function_call for part in cases.parts_of(event.content)):
                words.pause()
        if event.turn_complete or event.interrupted:
            words.close(event.invocation_id, "user" if event.interrupted else "")
    words.close(None)
    return [event for event in words.events if event is not None]


def _halves(event: adk.AdkEvent) -> Iterator[adk.AdkEvent]:
    """Yields an event, or one for what the user said and one for what the agent said at once."""
    if event.input_transcription and event.output_transcription:
        yield event.model_copy(update={"output_transcription": None, "content": None})
        event = event.model_copy(update={"input_transcription": None})
    yield event


def live_turns(events: Sequence[adk.AdkEvent]) -> list[list[adk.AdkEvent]]:
    """Returns the events of one invocation by turns.

    A live session is one invocation of google-adk. In it a turn begins where the user speaks after the agent
    did, or with what follows after the agent completed its turn; a barge-in begins none by itself.
    """
    if not any(is_spoken(event) or event.turn_complete for event in events):
        return [list(events)]
    turns: list[list[adk.AdkEvent]] = [[]]
    is_answered = is_complete = False
    for event in _questions_first(events):
        speaks = bool(cases.text(event.content))
        acts = speaks or any(part.function_call for part in cases.parts_of(event.content))
        if (is_complete and acts) or (is_answered and speaks and by_user(event)):
            turns.append([])
            is_answered = is_complete = False
        turns[-1].append(event)
        is_answered = is_answered or (speaks and not by_user(event))
        is_complete = is_complete or bool(event.turn_complete)
    return turns


def _questions_first(events: Sequence[adk.AdkEvent]) -> list[adk.AdkEvent]:
    """Returns events with what the user said before its answer, where it was transcribed after the answer.

    It is so where the agent completes its turn right after it, and does not answer it then.
    """
    stretches: list[list[adk.AdkEvent]] = [[]]
    for event in events:
        stretches[-1].append(event)
        if event.turn_complete or event.interrupted:
            stretches.append([])
    spoken = [[event for event in stretch if cases.text(event.content)] for stretch in stretches]
    for index, (stretch, words) in enumerate(zip(stretches, spoken, strict=True)):
        users = [event for event in words if by_user(event)]
        is_late = bool(users) and not by_user(words[0]) and all(map(by_user, words[-len(users) :]))
        is_over = bool(stretch) and bool(stretch[-1].turn_complete) and not stretch[-1].interrupted
        after = spoken[index + 1] if index + 1 < len(spoken) else []
        is_answered_after = bool(after) and not any(map(by_user, after))
        if is_late and is_over and not is_answered_after and all(item.input_transcription for item in users):
            stretch.sort(key=lambda event: not any(event is user for user in users))
    return [event for stretch in stretches for event in stretch]
