"""What an agent says and cannot know: hallucinations_v1, claimed_actions_v1 and reported_failures."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from math import fsum
from operator import itemgetter, mul
from statistics import mean
from typing import Literal

from pydantic import Field

from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, grouped, listed
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import JudgedCriterion, MeasuredCriterion
from turnwise.transforms.criteria.citations import was_skipped
from turnwise.transforms.criteria.responses import AdkJudged
from turnwise.transforms.criteria.tool_effects import UsesToolEffects
from turnwise.transforms.effects.call_effects import ToolCatalog, called_tool
from turnwise.transforms.effects.call_values import argument_paths
from turnwise.transforms.effects.changes import call_text
from turnwise.transforms.effects.claims import (
    Action,
    ActionClaim,
    ClaimedValue,
    actions_of,
    find_quote,
    match_claims,
)
from turnwise.transforms.effects.failures import claims_success, has_failed, reports_failure
from turnwise.transforms.judging import prompts
from turnwise.transforms.judging.ask import Ask, Question, Vote, ask_all, vote_each
from turnwise.transforms.local_judge.grounding import PROBABLE, GroundingVerdict, ground, probable_range
from turnwise.transforms.matching.calls import answered_calls, call_key
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import find_span, quoted
from turnwise.transforms.text.sentences import MAX_SENTENCES, sentences

Label = Literal["supported", "unsupported", "contradictory", "disputed", "not_applicable"]
_GOOD = ("supported", "not_applicable")


class SentenceVerdict(prompts.ReasonedReply):
    """Verdict on one sentence."""

    number: int = Field(description="Number of the sentence, as in its section's name.")
    supporting_quote: str = Field(description="The words of the context that support it; empty if none do.")
    contradicting_quote: str = Field(description="The words of the context that contradict it; or empty.")
    reason: str = Field(description="Why, in one sentence.")
    label: Label


class HallucinationsReply(prompts.Reply):
    """One entry for every sentence."""

    sentences: list[SentenceVerdict]

    def inapplicable(self) -> Sequence[bool]:
        return [verdict.label == "not_applicable" for verdict in self.sentences]


class LocalHallucinationsReply(HallucinationsReply):
    """The local judge's answer, with its verdict on each sentence; no model is asked for it."""

    grounded: list[GroundingVerdict]


class Hallucinations(AdkJudged):
    """Share of the sentences of an answer that their context supports, or that claim nothing, 0..1.

    The context includes the references of an answer, and what other agents said before it in its turn. The
    details hold every sentence's label, reason, quotes and code-point offsets. Where the log does not hold
    all that an answer stands on, only what it holds can fail it.

    The local judge leaves out sentences that claim nothing; where all do, the answer is not applicable. Short
    sentences count less there, and one that is not supported counts by the probability that people call it
    so, which is below 0.5; `details.probability` has that of the answer.

    When to use: Answers must be supported by tool results and other context. It needs no eval case.

    Attributes:
        evaluate_intermediate_nl_responses: Judge all messages of the agent in a turn; the score is the mean
            over the messages. All are checked against the tool results of the whole turn.
    """

    name = "hallucinations_v1"
    needs = "answers of the agent"
    severity_reason = "unsupported"

    evaluate_intermediate_nl_responses: bool = False

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Labels all sentences of a turn; None: there is none, a refusal, or (local judge) no claim."""
        turn = pair.actual
        if turn is None or was_skipped(turn):
            return None
        messages = turn_texts(turn) if self.evaluate_intermediate_nl_responses else [turn.agent or ""]
        if max(map(len, messages), default=0) > prompts.MAX_SECTION:
            most = prompts.MAX_SECTION
            return Score(None, f"an answer of more than {most} characters is not judged by sentences")
        language = sample.conversation.language
        spans = [(i, span) for i, text in enumerate(messages) for span in sentences(text, language)]
        if not spans:
            return None
        if len(spans) > MAX_SENTENCES:
            return Score(None, f"{len(spans)} sentences; at most {MAX_SENTENCES} are judged")
        context = prompts.context_sections(sample.conversation, turn)
        if not self.evaluate_intermediate_nl_responses:
            context += prompts.sections_of_other_agents(sample.conversation, turn)
        texts = [messages[i][span.start : span.end] for i, span in spans]
        numbered = prompts.statement_sections("sentence", texts)
        prompt = prompts.task_prompt("hallucinations/2", [*context, *numbered])
        local = partial(local_reply, texts, context)
        question = Question(prompt, HallucinationsReply, self.options, local)
        count = len(spans)
        vote = await vote_each(
            ask,
            question,
            lambda reply: prompts.votes_of(((v.number, v.label in _GOOD) for v in reply.sentences), count),
            count,
        )
        details: list[JsonObject] = [
            {"sentence": text, "message": i, "start": span.start, "end": span.end}
            for text, (i, span) in zip(texts, spans, strict=True)
        ]
        for number, (detail, ballot) in enumerate(zip(details, vote.ballots, strict=True), 1):
            verdicts = ballot.reply.sentences if ballot.reply else ()
            verdict = next((v for v in verdicts if v.number == number), None)
            detail |= {"label": None, "reason": None, "votes": [ballot.positives, ballot.negatives]}
            if verdict:
                detail |= {"label": verdict.label, "reason": verdict.reason}
                detail |= quoted(verdict.supporting_quote, prompt.evidence, "supporting_quote")
                detail |= quoted(verdict.contradicting_quote, prompt.evidence, "contradicting_quote")
        least = PROBABLE if self.threshold is None else self.threshold
        score = _score(details, vote, least)
        is_refuted = any(detail["label"] == "contradictory" for detail in details)
        if score is None or score.value is None or score.value >= least or is_refuted or self.as_adk:
            return score
        if gap := prompts.evidence_gap(sample.conversation, turn):
            score.value, score.explanation, score.reason = None, None, gap
        return score

    def mean(self, values: Sequence[float]) -> float:
        """Returns the mean, rounded once as google-adk's is."""
        return mean(values)


def local_reply(texts: Sequence[str], context: Sequence[prompts.Section]) -> LocalHallucinationsReply:
    """Labels sentences without a model; see `ground`."""
    grounded = ground(texts, *prompts.evidence_texts(context))
    verdicts = [
        SentenceVerdict(
            number=number,
            supporting_quote=verdict.quote if verdict.label == "supported" else "",
            contradicting_quote=verdict.quote if verdict.label == "contradictory" else "",
            reason=verdict.reason,
            label=verdict.label,
        )
        for number, verdict in enumerate(grounded, 1)
    ]
    return LocalHallucinationsReply(sentences=verdicts, grounded=grounded)


def _score(details: Sequence[JsonObject], vote: Vote[HallucinationsReply], least: float) -> Score | None:
    """Returns the mean over the messages of the means of their sentences; None: none claims anything."""
    values = [ballot.value for ballot in vote.ballots]
    score = Score(None, judge=vote.answers.use)
    score.details = {"sentences": list(details), **prompts.left_out(vote.answers.question.prompt)}
    if missing := values.count(None):
        score.reason = prompts.unjudged_reason(missing, len(values), vote.answers.reason)
        return score
    local = [reply for reply in vote.answers.replies if isinstance(reply, LocalHallucinationsReply)]
    if not local or len(local) < len(vote.answers.replies):
        scored = zip(details, values, strict=True)
        by_message = grouped((detail["message"], value or 0.0) for detail, value in scored)
        score.value = mean(map(mean, by_message.values()))
        bad = (detail["reason"] for detail in details if detail["label"] not in _GOOD)
        score.explanation = next(bad, details[0]["reason"])
        return score
    # Of the local judge's answers, only sentences that claim something count.
    claims: defaultdict[int, list[GroundingVerdict]] = defaultdict(list)
    for detail, claim in zip(details, local[0].grounded, strict=True):
        detail["probability"] = None if claim.coverage is None else probable_range([claim])[0]
        if claim.coverage is not None:
            claims[detail["message"]].append(claim)
    if not claims:
        return None
    value, at_most = (
        mean([_share(of_message, is_best) for of_message in claims.values()]) for is_best in (False, True)
    )
    score.details["probability"] = mean([probable_range(of_message)[0] for of_message in claims.values()])
    # Words that the evidence lacks fail an answer only if they say something against it.
    if value < least <= at_most:
        score.reason = next(claim.unsure for claim in local[0].grounded if claim.unsure)
        return score
    score.value = value
    claiming = [detail for detail in details if detail["probability"] is not None]
    score.explanation = min(claiming, key=itemgetter("probability"))["reason"]
    return score


def _share(claims: Sequence[GroundingVerdict], is_best: bool) -> float:
    """Returns the share of supported sentences, by weight; at best, those against which little speaks are."""
    values = []
    for claim in claims:
        # Where it is high of one that is not supported, one side alone denies something.
        likely = probable_range([claim])[0]
        is_supported = claim.label == "supported" or (is_best and claim.unsure)
        values.append(1.0 if is_supported else likely if likely < PROBABLE else 0.0)
    weights = [claim.weight for claim in claims]
    return fsum(map(mul, values, weights)) / fsum(weights)


# claimed_actions_v1: agreement of the agent's claims with its actions.

_WRONG: dict[str, str] = {
    "not_done": "said but not done",
    "other_values": "said with other values than it was done with",
    "too_early": "said before it was done",
}


class StatedValue(prompts.Reply):
    """A value of a claimed action."""

    argument: str = Field(description="Name of the parameter, as behind the tool's name; empty if none.")
    text: str = Field(description="The agent's exact words for it, from the quote.")


class ClaimedAction(prompts.Reply):
    """An action that the agent claims."""

    turn: int = Field(description="Number of the turn, as in its section's name.")
    quote: str = Field(description="The agent's exact words.")
    tool: str = Field(description="Name of the tool that does such a thing; empty if none does.")
    identifier: str = Field(description="The code or number that names the thing; empty if there is none.")
    values: list[StatedValue] = Field(description="Values that the quote states of the action.")


class ClaimedActionsReply(prompts.ReasonedReply):
    """One entry for every claim, in order."""

    claims: list[ClaimedAction]


class ClaimedActions(JudgedCriterion, UsesToolEffects):
    """Share of claimed and performed actions that agree, 0..1.

    The judge extracts the claims with quotes, tools and values; code matches them with the calls. Claims
    without an action, with another value than the call's argument (an amount, a date, an address) or before
    their action, and actions without a claim lower the share. The details hold all claims with offsets.

    A value counts as the call's only if all of its words are read and equal the argument, and as another one
    only if it is shown to differ ([rules](criteria.md#claimed-values)). A claim with a value that is neither
    is `not_compared`: no score, unless the share is below the threshold even if all such claims agree. An
    unclaimed call of unknown effect leaves no score in the same way. Of several samples the one with the
    median value counts, or none if as many could not be compared.

    When to use: The agent must report its actions truthfully and completely. It needs no eval case.
    """

    name = "claimed_actions_v1"
    needs = "answers of the agent"
    severity_reason = "false_claims"

    threshold: float | None = 1.0

    async def judge_conversation(self, sample: Sample, ask: Ask) -> Score | None:
        catalog, spoken = sample.catalog(self.tools), prompts.spoken_sections(sample.conversation)
        actions = actions_of(sample.conversation, catalog)
        if not any(section.name.endswith(", agent") for section in spoken):
            return self._compared([], actions) if actions else None
        # All tools that write or hand over, with the names of the arguments that calls give them.
        golden = sample.eval_case
        calls = [call for turn in sample.conversation.turns for call in turn.tool_calls]
        calls += [call for turn in (golden.turns if golden else ()) for call in turn.tool_calls or ()]
        calls += (golden.actions or ()) if golden else ()
        changing = {called_tool(call) for call in calls if catalog.effect_of(call).effect != "read"}
        arguments: dict[str, dict[str, None]] = {}
        for name in (*catalog.declared, *map(called_tool, calls), *(action.tool for action in actions)):
            arguments.setdefault(name, {})
        for call in calls:
            arguments[called_tool(call)].update(dict.fromkeys(argument_paths(call.args)))
        tools = {
            name: f"{name}({', '.join(paths)})" if paths else name
            for name, paths in arguments.items()
            if name and (name in changing or catalog.effect(name).effect != "read")
        }
        shown = prompts.Section("tools", "\n".join(tools.values()))
        question = Question(
            prompts.task_prompt("claimed_actions/3", [shown, *spoken]),
            ClaimedActionsReply,
            self.options,
            verdicts=lambda reply: [self._agreement(reply, sample, catalog, tools).value],
        )
        answers = await ask_all(ask, question)
        scores = [self._agreement(reply, sample, catalog, tools) for reply in answers.replies]
        measured = [score for score in scores if score.value is not None]
        unknown = [score for score in scores if score.value is None and score.details is not None]
        if len(measured) > len(unknown):
            score = sorted(measured, key=lambda score: score.value or 0.0)[(len(measured) - 1) // 2]
        else:
            score = [*scores, *unknown][-1] if scores else Score(None, reason=answers.reason)
        score.judge = answers.use
        if score.details is not None:
            guessed = catalog.guesses(call for turn in sample.conversation.turns for call in turn.tool_calls)
            guesses: JsonObject = {"guessed": guessed} if guessed else {}
            score.details = {**score.details, **guesses, **prompts.left_out(question.prompt)}
        return score

    def _agreement(
        self, reply: ClaimedActionsReply, sample: Sample, catalog: ToolCatalog, tools: Collection[str]
    ) -> Score:
        """Returns what one answer comes to; None as value: a quote is wrong, or a value is not compared."""
        claims, total = [], len(reply.claims)
        for claim in reply.claims:
            quoted = find_quote(claim.quote, claim.turn - 1, sample.conversation)
            tool = claim.tool.strip()
            if tool not in tools:
                fitting = [name for name in tools if _is_meant(tool, name)]
                tool = fitting[0] if len(fitting) == 1 else tool
            if quoted is not None and all(find_span(value.text, claim.quote) for value in claim.values):
                texts = claim.quote.strip(), tool, claim.identifier.strip()
                values = [ClaimedValue(value.argument.strip(), value.text.strip()) for value in claim.values]
                claims.append(ActionClaim(quoted, *texts, values))
        if len(claims) == total:
            return self._compared(claims, actions_of(sample.conversation, catalog))
        return Score(None, f"{total - len(claims)} of {total} quotes are not the agent's words")

    def _compared(self, claims: Sequence[ActionClaim], actions: Sequence[Action]) -> Score:
        match_claims(claims, actions)
        unsaid = [action for action in actions if not action.is_claimed and action.is_change]
        unclear = [action for action in actions if not action.is_claimed and not action.is_change]
        unknown = [claim for claim in claims if claim.verdict == "not_compared"]
        total = len(claims) + len(unsaid)
        agreeing = sum(claim.verdict in ("done", "not_compared") for claim in claims)
        details: JsonObject = {
            "claims": [claim.detail() for claim in claims],
            "unsaid": [{"turn": action.turn, "call": call_text(action.call)} for action in unsaid],
        }
        if unclear:
            details["unknown"] = [{"turn": action.turn, "call": call_text(action.call)} for action in unclear]
        share = agreeing / total if total else 1.0
        if (not unknown and not unclear) or (self.threshold is not None and share < self.threshold):
            wrong_claims = [claim for claim in claims if claim.verdict in _WRONG]
            wrong = [f"{_WRONG[c.verdict]}: “{c.quote}” (turn index {c.span.turn})" for c in wrong_claims]
            wrong += [f"done but not said: {call_text(a.call)} (turn index {a.turn})" for a in unsaid]
            if wrong:
                text = f"{wrong[0][0].upper()}{listed(wrong, 1, mark='; ')[1:]}."
            elif claims:
                text = "What the agent says it did was done."
            else:
                text = "Nothing was done, and nothing claimed."
            return Score(share, explanation=text, details=details)
        if unknown:
            values = ", ".join(
                f"“{value.text}”{f' ({value.argument})' if value.argument else ''}"
                for value, verdict in unknown[0].compared_values()
                if verdict == "not_compared"
            )
            what = "claims state what cannot be compared with the call"
            return Score(None, f"{len(unknown)} of {len(claims)} {what}: {values}", details=details)
        tools = ", ".join(dict.fromkeys(action.tool for action in unclear))
        reason = f"it is unknown what a tool does whose call the agent does not report ({tools})"
        return Score(None, f"{reason}: state its effect in `tools` of the config", details=details)


def _is_meant(stated: str, tool: str) -> bool:
    """Returns whether a judge names a tool in other case, with parameters, or with or without namespace."""
    names = stated.partition("(")[0].strip(" `").casefold(), tool.casefold()
    short, long = sorted(names, key=len)
    return short == long or (short != "" and long.endswith((f".{short}", f":{short}", f"/{short}")))


class ReportedFailures(MeasuredCriterion, UsesToolEffects):
    """Share of the failed calls of a turn that the agent does not call a success, 0..1; no judge is asked.

    A call that a later one of the turn repeats with success does not count. A failure is reported if the
    agent says in the turn that something failed, and nothing else failed there. One that it does not report
    leaves no score, and so does a call without a result, other than a hand-off: what the agent says of it may
    be invented. Where it says in English that the action was done, the failure lowers the share. Not
    applicable to a turn in which no call failed.

    When to use: Find agents that hide failed calls. It needs no eval case.
    """

    name = "reported_failures"
    needs = "failed calls of tools"
    severity_reason = "false_claims"

    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        if pair.actual is None:
            return None
        catalog = sample.catalog(self.tools)
        open_calls: list[tuple[ToolCall, ToolResponse | None]] = []
        repeated = set()
        for call, response in reversed(list(answered_calls(pair.actual))):
            if response is None:
                is_wrong = catalog.effect_of(call).effect != "handoff"
            else:
                is_wrong = has_failed(response, called_tool(call), call.args)
            if not is_wrong:
                repeated.add(call_key(call))
            elif call_key(call) not in repeated:
                open_calls.insert(0, (call, response))
        if not open_calls:
            return None
        language = sample.conversation.language
        spoken = [text[a:b] for text in turn_texts(pair.actual) for a, b in sentences(text, language)]
        hidden, unclear = [], []
        are_alike = len({called_tool(call) for call, _ in open_calls}) == 1
        for call, response in open_calls:
            tool = called_tool(call)
            claim = next((text for text in spoken if claims_success(text, tool)), None)
            is_reported = any(reports_failure(text, tool) for text in spoken)
            if response is None:
                unclear.append(f"the log holds no result of {call_text(call)}")
            elif claim and not is_reported:
                hidden.append(f"{call_text(call)} failed, and the agent says: “{claim}”")
            elif claim or not is_reported or not are_alike:
                unclear.append(f"{call_text(call)} failed, and the agent is not seen to say so")
        if hidden:
            return Score(1 - len(hidden) / len(open_calls), explanation=f"{hidden[0]}.")
        if unclear:
            return Score(None, reason=unclear[0])
        return Score(1.0, explanation="The agent reports what failed.")
