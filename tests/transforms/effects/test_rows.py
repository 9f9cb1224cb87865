"""What is read from names, arguments, answers, texts and claims: rows of values that a person labelled."""

import json
import re
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import sample_of
from tests.tables import rows_test
from tests.transforms.effects.test_prose import held_against, judge_that_says
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ToolCall, ToolDeclaration, ToolResponse, ToolSetting
from turnwise.transforms.criteria.expectations_met import SpokenText
from turnwise.transforms.effects.call_effects import ToolCatalog, called_tool
from turnwise.transforms.effects.call_values import argument_paths, leaves
from turnwise.transforms.effects.catalog import infer_effect, words_of
from turnwise.transforms.effects.changes import calls_by, without_repeats
from turnwise.transforms.effects.claims import (
    Action,
    ActionClaim,
    ClaimedValue,
    MessageRange,
    compare_value,
    match_claims,
)
from turnwise.transforms.effects.equivalence import ArgumentComparison, equivalent
from turnwise.transforms.effects.failures import admits_failure, changed_nothing, has_failed, reports_failure
from turnwise.transforms.matching.calls import plain_text
from turnwise.transforms.text.values import read_number

test_rows = rows_test(globals())


def is_said(wanted, said, language, found):
    assert SpokenText([said], language).contains(wanted) is found
    assert SpokenText(["Hello, 99.", said, "Bye!"], language).contains(wanted) is found


def may_be_said(wanted, said, language, outcome):
    """Where words, months and inflections of a language are not read, or a half of the day is open."""
    spoken = SpokenText([said], language)
    assert not spoken.contains(wanted) and spoken.may_contain(wanted) is outcome


def number(text, language, value):
    assert read_number(text, language) == value


def nearest_sentence(wanted, texts, nearest):
    assert SpokenText(texts, "en").nearest_sentence(wanted) == nearest


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def effect_by_name(names, wanted):
    """In any spelling."""
    for name in names.split():
        found = infer_effect(name)
        assert [*found[: len(wanted)]] == wanted, name
        if re.fullmatch("[a-z]+(_[a-z]+)+", name):
            pascal = camel(name)[:1].upper() + camel(name)[1:]
            spelled = [camel(name), pascal, name.replace("_", "-"), name.upper()]
            spelled += [f"mcp__any_server__{name}", f"default_api.{name}", f"{name}_v2"]
            assert [infer_effect(spelling) for spelling in spelled] == [found] * 7, name


@given(st.text(max_size=40), st.none() | st.text(max_size=40))
def test_any_text_is_a_name(name, description):
    assert infer_effect(name, description).effect in ("read", "write", "handoff", "unknown")


def how_it_writes(name, idempotent, destructive):
    assert infer_effect(name)[1:3] == (idempotent, destructive)


def effect_by_description(description, wanted):
    """Where the name says nothing."""
    assert infer_effect("frobnicate", description).effect == wanted
    assert infer_effect("cancel_order", description).effect == "write"


def words_of_name(name, wanted):
    assert words_of(name) == wanted


ARGS = json.loads(Path(__file__).with_name("call.json").read_text(encoding="utf-8"))


def stated_of_the_call(argument, words, verdict):
    assert compare_value(ClaimedValue(argument, words), ARGS) == verdict


def stated_of_a_whole_call(words, verdict):
    """It may stand in any argument, or be known of what the call is about."""
    call, known = {"amount": 20, "currency": "EUR"}, leaves({"confirmation": "r-55", "days": 3})
    assert compare_value(ClaimedValue("", words), call, known) == verdict


def test_paths_of_arguments():
    assert argument_paths(ARGS)[3:8] == ["to.street", "to.zip", "unit", "items.id", "items.count"]
    assert argument_paths(None) == []


def stated(argument, given, words, verdict):
    """What is not shown to be the same is not compared."""
    args = given if given is None or isinstance(given, dict) else {argument: given}
    assert compare_value(ClaimedValue(argument, words), args) == verdict


def claimed(quote, identifier, amount, verdict):
    changed = {"order_id": "A-77", "seat": "14A", "email": "anna@shop.de", "date": "2026-03-14"}
    changed |= {"time": "19:00", "amount": 20, "quantity": 3, "card": "gift_card_7091239"}
    action = Action(0, "change", ToolCall("change", changed), leaves([changed, {"ok": True}]))
    values = [ClaimedValue("amount", amount)] if amount else []
    claim = ActionClaim(MessageRange(0, 0, 0, len(quote)), quote, "change", identifier, values)
    match_claims([claim], [action])
    assert claim.verdict == verdict


def alike(expected, actual):
    assert equivalent(expected, actual)


def different(expected, actual):
    for prose in ("unmet", "met"):
        assert not equivalent(expected, actual, prose)
        assert not equivalent(actual, expected, prose)


def unclear(expected, actual):
    """Only a judge can compare them."""
    for pair in ((expected, actual), (actual, expected)):
        assert not equivalent(*pair)
        assert equivalent(*pair, "met")


def alike_by_name(expected, actual, name, is_unclear):
    assert not equivalent(expected, actual, "unmet", name)
    assert equivalent(expected, actual, "met", name) is is_unclear


def differing(expected, actual, wanted, compare_args=None):
    calls = ToolCall("t", expected, compare_args=compare_args), ToolCall("t", actual)
    assert [difference.parameter for difference in ArgumentComparison().differences(*calls)] == wanted


def failed(answer, *call):
    assert has_failed(ToolResponse(response=answer), *call)


def succeeded(answer, *call):
    assert not has_failed(ToolResponse(response=answer), *call)


def says_nothing_changed(answer, wanted):
    assert changed_nothing(ToolResponse(response=answer)) is wanted


def admits(said, wanted):
    """Whether an agent says that a look-up failed."""
    assert admits_failure(said) is wanted


def reports(said, wanted):
    """Whether an agent says that a call failed."""
    assert reports_failure(said, "cancel_order") is wanted


def catalog(config, declared, name, wanted):
    """The nearest source decides each thing alone: name, then glob of the config, declaration, guess."""
    settings = {tool: ToolSetting.model_validate(value) for tool, value in config.items()}
    tools = ToolCatalog(settings, msgspec.convert(declared, list[ToolDeclaration]))
    assert [*tools.effect(name)[: len(wanted)]] == wanted


def kept(calls, wanted):
    """What is idempotent counts once."""
    guessed = ToolCatalog({})
    assert len(without_repeats(calls_by("agent", msgspec.convert(calls, list[ToolCall])), guessed)) == wanted


def test_the_log_goes_before_the_case():
    case = EvalCase(eval_id="e", tools=[ToolDeclaration("a", "write"), ToolDeclaration("b", "read")])
    found = sample_of(case, tools=[ToolDeclaration("a", "read")]).catalog({})
    assert [found.effect("a").effect, found.effect("b").effect, *found.declared] == ["read", "read", "a", "b"]


def called(name, args, wanted):
    guessed = ToolCatalog({})
    assert called_tool(ToolCall(name, args)) == wanted
    assert guessed.effect_of(ToolCall(name, args)) == guessed.effect(wanted)


def effect_of_call(name, args, wanted, why):
    """As the arguments say, unless a declaration says it."""
    call = ToolCall(name, args)
    effect = ToolCatalog({}).effect_of(call)
    assert ("destructive" if effect.destructive else effect.effect) == wanted, why
    declared = ToolCatalog({}, [ToolDeclaration(name, "handoff")])
    assert declared.effect_of(call).effect == "handoff" or called_tool(call) != name


def text(name, expected, made, status):
    """A text as an argument is the same, a different one, or unclear."""
    result = held_against("send_update", {name: expected, "to": "U1"}, {name: made, "to": "U1"})
    assert result.status == status
    (score,) = result.scores
    if status is None:
        assert score["value"] is None
        assert score["reason"].startswith(f"the wording of {name} of send_update differs")
        assert score["details"]["not_compared"] == [f"{name} of send_update"]
        assert score["details"]["unclear"] == [
            {"name": f"{name} of send_update", "expected": plain_text(expected), "actual": plain_text(made)}
        ]
        assert f"Wording not compared: {name} of send_update." in score["explanation"]


def arguments(tool, expected, made, status, fields=None):
    assert held_against(tool, expected, made, **(fields or {})).status == status


def object_keys(expected, made, status, judged):
    """Keys that are not expected are unclear; `judged` is the status with a judge that says yes."""
    expected, made = {"id": 7, "what": expected}, {"id": 7, "what": made}
    assert held_against("update_trip", expected, made).status == status
    assert held_against("update_trip", expected, made, judge_that_says("yes", [])).status == judged
    assert held_against("update_trip", expected, made, prose="ignore").status == judged


def marked(mark, wanted):
    """The mark of the log says whether a call failed."""
    assert has_failed(ToolResponse(response="fine", error=mark)) is wanted


def test_without_an_answer_a_call_has_succeeded():
    assert not has_failed(None) and not changed_nothing(None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_every_answer_can_be_read(answer):
    assert has_failed(ToolResponse(response=answer)) in (True, False)


def later_call(turn, verdict):
    """A call that comes later does not make a claim true."""
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


def test_an_integer_of_any_size_is_compared():
    assert not equivalent(10**5000, 3)


def test_a_glob_of_the_config_is_no_name():
    """A tool that is called like a glob has the effect of the first glob that matches."""
    tools = ToolCatalog({"*": ToolSetting(effect="read"), "a?": ToolSetting(effect="write")})
    assert tools.effect_of(ToolCall(name="a?", args={})).effect == "read"
    assert ToolCatalog({"purge[1]": ToolSetting(effect="read")}).effect("purge[1]").destructive
