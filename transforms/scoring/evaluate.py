"""Scores conversations: every criterion on every turn, without Beam."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from turnwise.schemas.config import STATUS
from turnwise.schemas.conversation import FAILED, turn_name
from turnwise.schemas.registry import raised_at
from turnwise.schemas.score import RAISED, Failure, Outcome, Score, record_failure
from turnwise.transforms.criteria.base import (
    Criterion,
    JudgedCriterion,
    MeasuredCriterion,
    awaited_score,
    decide_score,
    listed_scores,
    one_score,
    overall_score,
    why_overall,
)
from turnwise.transforms.criteria.ces import SemanticMatch, items_of
from turnwise.transforms.criteria.tool_effects import LeavesOpen, OpenScore, UsesToolEffects
from turnwise.transforms.effects.equivalence import OpenPair
from turnwise.transforms.formats.registry import REACHED
from turnwise.transforms.judging.ask import Ask, JudgeSample, NotAsked, Question, R, sum_uses
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.judge import Judge
from turnwise.transforms.judging.prompts import UNREAD, Reply, unread_reason
from turnwise.transforms.matching.sample import (
    Sample,
    TurnPair,
    broke_off,
    end_text,
    end_unclear,
    unanswered_state,
    unanswered_turn,
)
from turnwise.transforms.scoring.panels import caught, joint_score
from turnwise.transforms.scoring.redaction import REDACTED, RedactedAsk, Redactor, redactor_of
from turnwise.transforms.scoring.selection import (
    Criteria,
    conversation_gap,
    gap_reasons,
    hash_place,
    record_findings,
    turn_gap,
    withheld,
)

_MOST_ROUNDS = 3
_MOST_PAIRS = 50
"""Values that a judge compares in one question; more stay open."""


class CriterionScores(msgspec.Struct):
    """Scores of one criterion for one conversation.

    Attributes:
        turns: (turn index, score), in order.
        overall: The conversation's own score: of the whole where the case states it for the whole, else the
            turns summed up; None: nothing was applicable.
        errors: Turns (None: the whole) at which it raised.
        verdicts: How many verdicts the judge's usable answers hold.
        inapplicable: Those of them that say that the question does not apply.
    """

    criterion: Criterion
    turns: list[tuple[int, Score]] = []
    overall: Score | None = None
    errors: list[int | None] = []
    verdicts: int = 0
    inapplicable: int = 0

    def scores(self) -> list[tuple[int | None, Score]]:
        """Returns the scores of the turns and, under None, of the conversation, those that there are."""
        return [*self.turns, *([] if self.overall is None else [(None, self.overall)])]


class ScoredConversation(msgspec.Struct):
    """A conversation, its case, and all its scores.

    Attributes:
        sampled_out: Names of the judged criteria that sampling left out, and `verdict` if one of
            them takes part in the verdict.
        comparer: Who is asked about values that measured criteria leave open; None: nobody.
        slices: The slices of the metrics that it belongs to, each with the indices of the turns that do
            (None: all of them).
        redactor: What gives its values their markers; None: nothing is to be replaced, or not yet known.
    """

    sample: Sample
    scores: list[CriterionScores]
    failures: list[Failure]
    sampled_out: tuple[str, ...] = ()
    comparer: SemanticMatch | None = None
    slices: dict[str, frozenset[int] | None] = {}
    redactor: Redactor | None = None


def evaluate(
    sample: Sample, criteria: Criteria, ask: Ask | None = None
) -> tuple[ScoredConversation, Coroutine[Any, Any, None] | None]:
    """Scores a conversation; the one way to do it, in batch and stream, in Python, in tests and in trials.

    A criterion that raises becomes a failure; its other turns and the other criteria still count. What is
    wrong with an answer's record is a failure of the stage `check`.

    Returns:
        The conversation with its measured scores, and what adds the judged ones (see `judge_conversation`);
        None: there is nothing to ask, or nobody.
    """
    case, conversation = sample.eval_case, sample.conversation
    failures = record_findings(sample) if sample.has_findings or sample.has_gaps else []
    scored = ScoredConversation(sample, [], failures, criteria.sampled_out)
    for criterion in criteria.measured:
        applied = criterion if case is None or case.actions is None else criterion.with_actions(case)
        scored.scores.append(_score(applied, sample, failures))
    if criteria.comparer is not None and any(map(open_pairs, scored.scores)):
        scored.comparer = criteria.comparer
    if ask is None or not (criteria.judged or scored.comparer):
        return scored, None
    if isinstance(ask, Judge):
        # Another place than that of `--sample_rate`, which leaves only low ones.
        name = (case.eval_id if case else None) or conversation.conversation_id
        ask = ask.within_budget(hash_place(f"budget {name}"))
    if criteria.redact is not None:
        scored.redactor = redactor_of(criteria.redact, sample) or Redactor(criteria.redact)
        ask = RedactedAsk(ask, scored.redactor)
    return scored, judge_conversation(scored, criteria.judged, ask)


async def judge_conversation(
    scored: ScoredConversation, criteria: Sequence[JudgedCriterion], ask: Ask
) -> None:
    """Adds the scores of every judged criterion; all questions are asked at once.

    Those about values that measured criteria leave open are among them. A criterion that raises becomes a
    failure, as a measured one does. Raises AuthenticationError if the judge's credentials are refused.
    """
    settled = [_settle(result, scored.sample, scored.comparer, ask) for result in scored.scores]
    judged = [_judge(criterion, scored.sample, scored.failures, ask) for criterion in criteria]
    scored.scores = list(await asyncio.gather(*settled, *judged))


def open_pairs(result: CriterionScores) -> list[OpenPair]:
    """Returns the values that the scores of a criterion leave to a judge."""
    pairs = (pair for _, score in result.scores() if isinstance(score, OpenScore) for pair in score.pairs)
    return list(dict.fromkeys(pairs))


async def _settle(
    result: CriterionScores, sample: Sample, comparer: SemanticMatch | None, ask: Ask
) -> CriterionScores:
    """Returns the scores of a measured criterion after a judge compared what they leave open.

    Its answers may leave open values of other calls, which are then asked about as well. What the judge said,
    and why it said nothing, stands in the score of the conversation.
    """
    answers: dict[OpenPair, bool] = {}
    judged: list[Score] = []
    criterion = result.criterion
    for _ in range(_MOST_ROUNDS if comparer is not None else 0):
        pairs = [pair for pair in open_pairs(result) if pair not in answers][:_MOST_PAIRS]
        if not pairs or not isinstance(criterion, LeavesOpen) or not isinstance(criterion, MeasuredCriterion):
            break

        async def compare(asked: JudgedCriterion, ask: Ask, pairs: list[OpenPair] = pairs) -> Score | None:
            assert isinstance(asked, SemanticMatch)
            return await awaited_score("compare", asked.compare(ask, pairs))

        assert comparer is not None
        score = await joint_score(comparer, compare, ask)
        judged += [score] if score is not None else []
        items = items_of(score)
        answers |= {pairs[item.position]: item.score == 1.0 for item in items if item.score is not None}
        result = _score(criterion.with_answers(answers), sample, [])
        result.criterion = criterion
    overall = result.overall
    if judged and overall is not None:
        values = [value for score in judged for value in (score.details or {}).get("values", [])]
        overall.details = (overall.details or {}) | {"judged": values}
        overall.judge = sum_uses([score.judge for score in judged])
        if overall.value is None and judged[-1].reason:
            overall.reason = f"{overall.reason}; the judge: {judged[-1].reason}"
    return result


def _score(criterion: MeasuredCriterion, sample: Sample, failures: list[Failure]) -> CriterionScores:
    result = CriterionScores(criterion)
    whole: object = None
    try:
        if not (sample.unanswered and criterion.needs_answers):
            whole = criterion.score_conversation(sample)
    except RAISED as error:
        whole = error
    score_turn, is_built_in = criterion.score, criterion._is_built_in  # pydantic makes every look at one slow
    for pair in sample.evaluable:
        try:
            returned = score_turn(sample, pair)
            if is_built_in and returned.__class__ is Score:
                decide_score(criterion, sample, pair, returned)
                result.turns.append((pair.index, returned))
            elif returned is not None:
                _add_turn(result, sample, pair, returned)
        except RAISED as error:
            _note(result, failures, error, sample, pair.index)
    if sample.has_gaps:
        gaps = [turn_gap(criterion, sample, sample.pairs[i]) for i, _ in result.turns]
        scores = zip(result.turns, gaps, strict=True)
        result.turns = [(i, withheld(score, gap) if gap else score) for (i, score), gap in scores]
    return _with_overall(result, sample, failures, whole)


def _add_turn(result: CriterionScores, sample: Sample, pair: TurnPair, returned: object) -> None:
    """Adds what a criterion returned or raised for a turn, checked and decided."""
    if returned is not None:
        scores = [returned] if isinstance(returned, Score) else listed_scores(returned)
        scores = [*map(replace, scores)]  # a plugin may return one object for several turns or criteria
        for score in scores:
            decide_score(result.criterion, sample, pair, score)
        result.turns += [(pair.index, score) for score in scores]


def _with_overall(
    result: CriterionScores, sample: Sample, failures: list[Failure], returned: object
) -> CriterionScores:
    """Sums up the turns, or takes what the criterion returned or raised for the whole."""
    criterion = result.criterion
    try:
        if returned is None:
            result.overall = overall_score(criterion, sample, result.turns)
        else:
            whole = one_score("score_conversation", returned)
            assert whole is not None
            gap = conversation_gap(criterion, sample) if isinstance(criterion, MeasuredCriterion) else None
            whole = withheld(whole, gap) if gap else whole
            decide_score(criterion, sample, None, whole)
            counts_turns = criterion.turns_count and result.turns and whole.outcome == "PASS"
            by_turn = criterion.overall([score for _, score in result.turns]) if counts_turns else None
            if by_turn is not None and by_turn.outcome != "PASS":
                whole.outcome = by_turn.outcome
                whole.reason = f"the turns do not pass{f': {by_turn.reason}' if by_turn.reason else ''}"
                if by_turns := why_overall(result.turns):
                    as_whole = f"As a whole: {whole.explanation} " if whole.explanation else ""
                    whole.explanation = f"{as_whole}By turns: {by_turns}"
            result.overall = whole
        overall, errors = result.overall, result.errors
        if errors and overall is not None and overall.outcome == "PASS":
            overall.outcome, overall.reason = None, f"{len(errors)} turns could not be scored"
        elif not errors and overall is None and criterion.threshold is not None:
            # A gate that has no score is open if the conversation broke off, or if there is always a score.
            if broke_off(sample.conversation):
                result.overall = Score(None, reason=end_text(sample.conversation))
            elif criterion.applies_always:
                needs = f" (needs {criterion.needs})" if criterion.needs else ""
                result.overall = Score(None, reason=f"not in the log{needs}")
    except RAISED as error:
        _note(result, failures, error, sample, None)
    return result


async def _judge(
    criterion: JudgedCriterion, sample: Sample, failures: list[Failure], ask: Ask
) -> CriterionScores:
    result = CriterionScores(criterion)

    async def counting(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        answers = await ask(question, samples)
        for answer in answers:
            if isinstance(answer.reply, Reply):
                verdicts = answer.reply.inapplicable()
                result.verdicts += len(verdicts)
                result.inapplicable += sum(verdicts)
        return answers

    asked = [*sample.evaluable, *([] if sample.unanswered else [None])]
    questions = [caught(_judged, criterion, sample, pair, counting) for pair in asked]
    answers = await asyncio.gather(*questions, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, AuthenticationError | asyncio.CancelledError):  # also of a judge that ends
            raise answer
    for pair, answer in zip(sample.evaluable, answers, strict=False):
        try:
            _add_turn(result, sample, pair, answer)
        except RAISED as error:
            _note(result, failures, error, sample, pair.index)
    return _with_overall(result, sample, failures, None if sample.unanswered else answers[-1])


async def _judged(
    criterion: JudgedCriterion, sample: Sample, pair: TurnPair | None, ask: Ask
) -> Score | None:
    """Returns the score of a turn, or of the conversation.

    It has no value where the log has a gap, nor where the judge did not read everything, unless it is the
    worst.
    """
    gap = conversation_gap(criterion, sample) if pair is None else turn_gap(criterion, sample, pair)

    async def run(asked_criterion: JudgedCriterion, ask: Ask) -> Score | None:
        if pair is None:
            return await awaited_score("judge_conversation", asked_criterion.judge_conversation(sample, ask))
        return await awaited_score("judge", asked_criterion.judge(sample, pair, ask))

    score = await (run(criterion, NotAsked(gap)) if gap else joint_score(criterion, run, ask))
    if score is None or gap:
        return score and withheld(score, gap or "", keeps_details=True)
    unread = score.details.get(UNREAD) if isinstance(score.details, dict) else None
    is_worst = criterion.scale is not None and score.value == criterion.scale[0]
    if isinstance(unread, int) and score.value is not None and not is_worst:
        score.value, score.outcome, score.threshold = None, None, None
        score.reason = unread_reason(unread)
    return score


def _note(
    result: CriterionScores, failures: list[Failure], error: BaseException, sample: Sample, turn: int | None
) -> None:
    failure = record_failure("score", error, sample.record, sample.conversation.conversation_id)
    failure.criterion = result.criterion.name
    failure.message += raised_at(error, [type(result.criterion).__module__])
    failure.app_version = sample.conversation.app_version
    failure.turn_index = turn
    failures.append(failure)
    result.errors.append(turn)


# The verdict on one conversation: PASS, FAIL, or none with its reasons.


_SHOWN = 5


class Verdict(NamedTuple):
    """PASS or FAIL; None: neither, for `reasons`."""

    status: Outcome | None
    reasons: tuple[str, ...] = ()


Rules = Mapping[str, Callable[[ScoredConversation], Verdict]]
"""Dialect of an eval case -> what decides the conversations that are held against such a case."""


def conversation_verdict(scored: ScoredConversation, rules: Rules) -> Verdict:
    """Decides a scored conversation: by the rules of its case's dialect, or else by the criteria's gates.

    One that the agent's failure or a limit ended fails, whatever its scores, and so does one with a failed
    answer. It has no verdict while an answer is not finished, and if something other than the agent ended it.
    Where calls or words may be missing in the log, or it ended in a way that is not known, it does not pass;
    nor does it where a turn has no answer, unless the log says how the last one ended. One that sampling
    left out has no verdict, whatever is known of it: the others are a fair sample then.
    """
    if STATUS in scored.sampled_out:
        names = ", ".join(name for name in scored.sampled_out if name != STATUS)
        return Verdict(None, (f"sampled out: {names}",))
    sample, conversation = scored.sample, scored.sample.conversation
    case = sample.eval_case
    decide = rules.get(case.dialect) if case is not None else None
    if sample.is_whole and conversation.ended is None and conversation.ended_detail is None:
        return decide(scored) if decide else criteria_verdict(scored.scores)
    if broke_off(conversation):
        return Verdict("FAIL", (end_text(conversation),))
    if sample.unanswered:
        states = [(pair.index, unanswered_state(pair)) for pair in sample.unanswered]
        why = tuple(f"{turn_name(i)}: the state of its answer is {state}" for i, state in states[:_SHOWN])
        return Verdict("FAIL" if any(state == FAILED for _, state in states) else None, why)
    if conversation.ended == "environment_error":
        return Verdict(None, (end_text(conversation),))
    verdict = decide(scored) if decide else criteria_verdict(scored.scores)
    if verdict.status == "FAIL":
        return verdict
    gates = [result.criterion for result in scored.scores if result.criterion.threshold is not None]
    doubts = [unanswered_turn(sample), end_text(conversation) if end_unclear(conversation) else None]
    doubts += gap_reasons(sample, all(gate.as_adk for gate in gates))[:_SHOWN]
    if not any(doubts):
        return verdict
    return Verdict(None, tuple(dict.fromkeys(filter(None, (*doubts, *verdict.reasons)))))


def criteria_verdict(scores: Sequence[CriterionScores]) -> Verdict:
    """FAIL if a gate was missed; PASS if all that apply were scored and passed; else none."""
    has_passed = False
    reasons: list[str] = []
    for result in scores:
        overall = result.overall
        if result.criterion.threshold is None:
            continue
        if overall is not None and overall.outcome == "FAIL":
            return Verdict("FAIL")
        if overall is not None and overall.outcome == "PASS":
            has_passed = True
        if result.errors:
            reasons.append(f"{result.criterion.name}: raised an error")
        elif overall is not None and overall.outcome is None:
            reasons.append(f"{result.criterion.name}: {overall.reason or 'no score'}")
    if has_passed and not reasons:
        return Verdict("PASS")
    return Verdict(None, tuple(reasons) or ("no criterion with a threshold applies",))


# Counts the tools whose effect was guessed, so that a run can say how much rests on guesses.

GUESS = "guess "
"""Start of the names of the counters, `guess EFFECT|TOOL`."""
_MOST_TOOLS = 1_000
_LONGEST_NAME = 200


class GuessCounts(Counter[str]):
    """`EFFECT|TOOL` -> conversations whose scores rest on a guess of a tool's effect; 1,000 tools at most."""

    def add(self, scored: ScoredConversation) -> None:
        """Counts the guesses that the scores of a conversation rest on (`details.guessed`), each once."""
        for name, effect in guessed_tools(scored).items():
            key = f"{GUESS}{effect}|{name[:_LONGEST_NAME]}"
            if key in self or len(self) < _MOST_TOOLS:
                self[key] += 1


def redacted_counts(scored: ScoredConversation) -> Counter[str]:
    """Returns how many values of a conversation left it as markers, and which paths of the config it has."""
    if scored.redactor is None:
        return Counter()
    kinds = {f"{REDACTED}{kind}": number for kind, number in scored.redactor.counts.items()}
    return Counter(kinds | {f"{REACHED}{path}": 1 for path in scored.redactor.reached})


def guessed_tools(scored: ScoredConversation) -> dict[str, str]:
    """Returns the tools whose effect was guessed or unknown for a conversation's scores, with the effect."""
    guesses: dict[str, str] = {}
    for entry in scored.scores:
        if isinstance(entry.criterion, UsesToolEffects):
            for _, score in entry.scores():
                guesses |= (score.details or {}).get("guessed", {})
    redactor = scored.redactor
    return {redactor.identity(name): effect for name, effect in guesses.items()} if redactor else guesses
