"""Sessions of google-adk that were rewound or compacted."""

import pytest

from turnwise.transforms.formats.adk_sessions import REWOUND, session_conversation
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.panels import gap_reasons


def event(author, *parts, **fields):
    content = {"parts": [{"text": part} if isinstance(part, str) else part for part in parts]}
    return {"author": author, "content": content, "timestamp": fields["at"], "invocation_id": fields["turn"]}


def call(name):
    return {"function_call": {"name": name, "args": {}}}


def answer(name, **response):
    return {"function_response": {"name": name, "response": response}}


def session(*events):
    return session_conversation({"id": "s1", "events": list(events)})


HELLO = [event("user", "hi", turn="i1", at=1.0), event("a", "Hello", turn="i1", at=2.0)]
DELETED = [
    event("user", "delete it", turn="i2", at=3.0),
    event("a", call("delete_account"), turn="i2", at=4.0),
    event("a", answer("delete_account", ok=True), turn="i2", at=5.0),
    event("a", "Deleted.", turn="i2", at=6.0),
]
ASKED = [event("user", "why?", turn="i2", at=3.0), event("a", "Because.", turn="i2", at=6.0)]
LAST = [event("user", "bye", turn="i4", at=8.0), event("a", "Bye", turn="i4", at=9.0)]


def marker(author="user", turn="m", at=7.0, **actions):
    return {"invocation_id": turn, "author": author, "timestamp": at, "actions": actions}


def rewind(to, **fields):
    return marker(rewind_before_invocation_id=to, **fields)


def compaction(start, end, **fields):
    summary = {"role": "model", "parts": [{"text": "They said hello."}]}
    told = {"startTimestamp": start, "endTimestamp": end, "compactedContent": summary}
    return marker(compaction=told, **fields)


def users(conversation):
    return [turn.user for turn in conversation.turns]


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        ([*HELLO, *ASKED, rewind("i2"), *LAST], ["hi", "bye"]),
        ([*HELLO, *ASKED, rewind("i2")], ["hi"]),
        # A rewind can be undone with what it is among; two rewinds follow each other.
        ([*HELLO, *ASKED, rewind("i2"), *LAST, rewind("i1", turn="n")], []),
        ([*HELLO, *ASKED, rewind("i2"), *LAST, rewind("m", turn="n")], ["hi", "why?"]),
    ],
)
def test_undone_invocations_are_left_out(events, wanted):
    conversation = session(*events)
    assert users(conversation) == wanted
    assert [turn.turn_index for turn in conversation.turns] == list(range(len(wanted)))
    assert not any(turn.unknown_calls or turn.unknown_words for turn in conversation.turns)
    found = [found.kind for turn in conversation.turns for found in turn.findings]
    assert set(found) <= {REWOUND} and bool(found) == bool(wanted)


def test_what_undone_calls_changed_may_still_hold():
    conversation = session(*HELLO, *DELETED, rewind("i2"), *LAST)
    assert users(conversation) == ["hi", "bye"]
    (finding,) = conversation.turns[1].findings
    assert (finding.kind, "delete_account" in finding.message) == (REWOUND, True)
    assert "delete_account" in conversation.turns[1].unknown_calls
    assert gap_reasons(Sample(conversation, None, None)) != []
    assert conversation.turns[0].unknown_calls is None


@pytest.mark.parametrize("target", ["i0", "i4"])
def test_a_rewind_to_what_the_log_does_not_hold_before_it(target):
    conversation = session(*HELLO, rewind(target), *LAST)
    assert users(conversation) == ["hi", "bye"]
    assert repr(target) in conversation.turns[1].unknown_calls
    assert repr(target) in conversation.turns[1].unknown_words


@pytest.mark.parametrize("stamps", [(1.0, 2.0), (3.0, 6.0)])
def test_a_compaction_is_no_turn(stamps):
    conversation = session(*HELLO, *ASKED, compaction(*stamps), *LAST)
    assert users(conversation) == ["hi", "why?", "bye"]
    assert not any(turn.findings or turn.unknown_calls for turn in conversation.turns)


@pytest.mark.parametrize("stamps", [(1.0, 6.5), (None, None)])
def test_turns_that_only_a_compaction_tells_of(stamps):
    conversation = session(*HELLO, *ASKED, compaction(*stamps), *LAST)
    assert users(conversation) == ["hi", "why?", "bye"]
    assert "compacted" in conversation.turns[2].unknown_calls
    assert "compacted" in conversation.turns[2].unknown_words


def test_a_compaction_of_undone_turns():
    conversation = session(*HELLO, *ASKED, compaction(1.0, 6.0, turn="k"), rewind("i2"), *LAST)
    assert users(conversation) == ["hi", "bye"]
    assert not any(turn.unknown_calls for turn in conversation.turns)
