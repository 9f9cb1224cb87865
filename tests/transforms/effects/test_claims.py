import pytest

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.call_values import leaves
from turnwise.transforms.effects.claims import Action, ActionClaim, ClaimedValue, MessageRange, match_claims


@pytest.mark.parametrize(("turn", "verdict"), [(0, "other_values"), (1, "done")])
def test_a_call_that_comes_later_does_not_make_a_claim_true(turn, verdict):
    calls = [ToolCall("change", {"amount": amount}) for amount in (30, 20)]
    actions = [Action(i, "change", call, leaves([call.args])) for i, call in enumerate(calls)]
    claim = ActionClaim(MessageRange(turn, 0, 0, 1), "x", "change", "", [ClaimedValue("amount", "20 euros")])
    match_claims([claim], actions)
    assert claim.verdict == verdict


def test_deeply_nested_arguments_are_read():
    nested = {"amount": 20}
    for _ in range(3000):
        nested = {"in": nested}
    assert [leaf.value for leaf in leaves(nested)] == [20]
