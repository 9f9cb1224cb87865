import re
from itertools import islice

from benchmarks.data import WRONG_SHARE, conversations

TURNS = [turn for entry in islice(conversations(20_000), 500) for turn in entry["turns"]]


def test_texts_have_as_many_distinct_words_as_recorded_answers():
    words = re.findall(r"[a-z0-9]+", " ".join(turn["agent"] for turn in TURNS).lower())
    recorded = {1_000: 0.46, 5_000: 0.27, 10_000: 0.19, 30_000: 0.11}
    for count, share in recorded.items():
        assert abs(len(set(words[:count])) / count - share) < 0.03, count
    assert 55 < len(words) / len(TURNS) < 65


def test_a_share_of_the_turns_has_a_wrong_call_and_most_answers_are_reworded():
    calls = [[{**call, "id": ""} for call in turn["tool_calls"]] for turn in TURNS]
    wanted = [[{**call, "id": ""} for call in turn["expected"]["tool_calls"]] for turn in TURNS]
    wrong = sum(a != b for a, b in zip(calls, wanted, strict=True)) / len(TURNS)
    assert abs(wrong - WRONG_SHARE) < 0.03
    assert sum(turn["agent"] == turn["expected"]["response"] for turn in TURNS) < 0.05 * len(TURNS)


def test_a_smaller_run_is_the_beginning_of_a_larger_one():
    assert list(conversations(10)) == list(islice(conversations(1_000), 5))
