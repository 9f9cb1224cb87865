import pytest

from turnwise.transforms.formats.adk_sessions import session_conversation


def event(author, *parts, at=None, turn="i1", **fields):
    content = {"parts": [{"text": part} if isinstance(part, str) else part for part in parts]}
    return {"invocation_id": turn, "author": author, "content": content, "timestamp": at, **fields}


def call(name, **args):
    return {"function_call": {"name": name, "args": args}}


def answer(name, **response):
    return {"function_response": {"name": name, "response": response}}


def session(*events, **fields):
    return session_conversation({"id": "s1", "events": list(events), **fields})


@pytest.mark.parametrize("name", ["prompt_token_count", "candidates_token_count", "thoughts_token_count"])
def test_negative_tokens_are_unknown(name):
    usage = {"prompt_token_count": 4, "candidates_token_count": 2}
    found = only_turn(
        event("user", "Hi"),
        event("root", "Hello", usage_metadata=usage),
        event("root", "Well", usage_metadata={**usage, name: -1}),
    )
    assert found.usage is None


def only_turn(*events):
    (turn,) = session(*events).turns
    return turn


def test_a_final_event_without_text_does_not_replace_one_with_text():
    picture = {"inline_data": {"mime_type": "image/png"}}
    assert only_turn(event("user", "q"), event("a", "words"), event("a", picture)).agent == "words"


def test_the_last_words_of_several_agents_are_final():
    turn = only_turn(event("user", "q"), event("a", "one"), event("b", "two"))
    assert (turn.agent, turn.agent_messages) == ("two", ["one", "two"])


def test_a_long_running_call_makes_its_event_final():
    turn = only_turn(event("user", "q"), event("a", "Started", call("f"), long_running_tool_ids=["1"]))
    assert (turn.agent, [made.name for made in turn.tool_calls]) == ("Started", ["f"])
    assert turn.agent_messages == []


def identified(part, call_id):
    return {kind: {**held, "id": call_id} for kind, held in part.items()}


@pytest.mark.parametrize("resumed", ["i1", "i2"])
def test_the_result_of_a_long_running_call_that_is_resumed(resumed):
    conversation = session(
        event("user", "Buy", at=1.0),
        event("a", identified(call("approve"), "c"), at=2.0, long_running_tool_ids=["c"]),
        event("a", identified(answer("approve", status="pending"), "c"), at=3.0),
        event("a", "Waiting", at=2.5),
        event("a", "Still waiting", at=4.0),
        event("user", identified(answer("approve", status="yes"), "c"), at=900.0, turn=resumed),
        event("a", "Bought", at=902.0, turn=resumed),
    )
    (turn,) = conversation.turns
    assert (turn.user, turn.agent, turn.latency_ms) == ("Buy", "Bought", 5000.0)
    assert [given.response for given in turn.tool_responses] == [{"status": "yes"}]
    assert [problem.kind for problem in turn.findings] == ["InterimResult"]
    assert turn.unknown_calls is None


@pytest.mark.parametrize(
    ("made", "given", "expected"),
    [
        ("c", "c", [("Buy", "Bought", [{"status": "yes"}]), ("Weather?", "Sunny", [])]),
        (None, None, [("Buy", "Bought", [{"status": "yes"}]), ("Weather?", "Sunny", [])]),
        ("c", "d", [("Buy", "Waiting", []), ("Weather?", "Sunny", []), ("", "Bought", [{"status": "yes"}])]),
    ],
)
def test_a_late_answer_to_a_call_goes_to_the_turn_that_made_it(made, given, expected):
    conversation = session(
        event("user", "Buy", at=1.0),
        event("a", identified(call("approve"), made), at=2.0, long_running_tool_ids=["c"]),
        event("a", "Waiting", at=3.0),
        event("user", "Weather?", at=10.0, turn="i2"),
        event("a", "Sunny", at=11.0, turn="i2"),
        event("user", identified(answer("approve", status="yes"), given), at=900.0, turn="i3"),
        event("a", "Bought", at=902.0, turn="i3"),
    )
    found = [
        (turn.user, turn.agent, [each.response for each in turn.tool_responses])
        for turn in conversation.turns
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("events", "transfers"),
    [
        (
            [
                event("a", call("transfer_to_agent", agent_name="b")),
                event("a", answer("transfer_to_agent"), actions={"transfer_to_agent": "b"}),
            ],
            ["b"],
        ),
        (
            [event("a", actions={"transferToAgent": "b"}), event("b", actions={"transferToAgent": "c"})],
            ["b", "c"],
        ),
        ([event("a", call("transfer_to_agent"))], []),
    ],
)
def test_transfers(events, transfers):
    assert only_turn(event("user", "q"), *events).transfers == transfers


def test_events_without_invocation_ids_are_split_at_the_user():
    events = [event(author, author, turn="") for author in ("a", "user", "a", "a", "user")]
    turns = session(*events).turns
    assert [(turn.user, turn.agent) for turn in turns] == [(None, "a"), ("user", "a"), ("user", "")]


@pytest.mark.parametrize("state", [{}, {"app_version": 3, "eval_id": None}])
def test_nothing_named(state):
    conversation = session(event("user", "q", at=1e20), state=state)
    assert (conversation.app_version, conversation.eval_id, conversation.start_time) == (None, None, None)
