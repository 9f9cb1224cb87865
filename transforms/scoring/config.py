"""Builds the criteria that a config names, and says in one line what is wrong with it."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from turnwise.schemas.config import STATUS, AlertRule, ConfigError, EvalConfig, TokenPrices, snake_case
from turnwise.schemas.jsonio import JsonObject, JsonValue, did_you_mean, fault_text, shown, unique_pairs
from turnwise.schemas.registry import hook_errors
from turnwise.transforms.criteria import base
from turnwise.transforms.judging.batches import BATCH_JOB
from turnwise.transforms.judging.judges import find_judge
from turnwise.transforms.judging.limits import price_of
from turnwise.transforms.scoring.evaluate import ScoredConversation
from turnwise.transforms.scoring.panels import CASCADE, PANEL
from turnwise.transforms.scoring.redaction import check_redaction
from turnwise.transforms.statistics.agreement import nominal_alpha
from turnwise.transforms.text.patterns import check_glob


def parse_config(text: str, name: str = "config") -> EvalConfig:
    """Parses a config file; raises ConfigError if it is not valid."""
    try:
        stated = json.loads(text, object_pairs_hook=unique_pairs)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from None
    if not isinstance(stated, dict):
        raise ConfigError(f"{name}: must hold a JSON object, not {shown(stated)}")
    value = _snake_fields(name, stated)
    if value.get("custom_metrics", {}) is None:
        del value["custom_metrics"]  # google-adk takes null for none
    try:
        config = EvalConfig.model_validate(value)
    except ValidationError as error:
        raise ConfigError(f"{name}: {_first_problem(error, EvalConfig)}") from None
    if config.judge.backend:
        find_judge(config.judge, f"{name}: judge.backend: ")
    names = [rule.name for rule in config.alerts]
    for index, rule in enumerate(config.alerts):
        problem = _alert_problem(rule, config.criteria)
        if problem is None and rule.name in names[:index]:
            problem = f"name: {rule.name!r} stands twice"
        if problem is not None:
            raise ConfigError(f"{name}: alerts.{index}.{problem}")
    return config


def _alert_problem(rule: AlertRule, criteria: JsonObject) -> str | None:
    """Returns why a rule could never say anything; None: it could."""
    criterion, is_verdict = rule.criterion, rule.criterion == STATUS
    try:
        check_glob(rule.app_version)
    except ValueError as error:
        return f"app_version: {error}"
    if is_verdict and rule.level == "turn":
        return f"level: {STATUS} is of whole conversations"
    if not is_verdict and criterion not in base.CRITERIA:
        return f"criterion: {criterion!r} is unknown{did_you_mean(criterion, [*base.CRITERIA, STATUS])}"
    if not is_verdict and criterion not in criteria:
        return f"criterion: {criterion} is not among the config's criteria"
    scale = (0.0, 1.0) if is_verdict else base.CRITERIA[criterion].scale
    bounds = [bound for bound in (rule.below, rule.above) if bound is not None]
    if rule.measure == "mean" and scale and not all(scale[0] <= bound <= scale[1] for bound in bounds):
        return f"below, above: a mean of {criterion} lies between {scale[0]:g} and {scale[1]:g}"
    if is_verdict and rule.measure == "count" and rule.below is not None and rule.below <= 1:
        return "below: a window without a conversation is not tested, and every other one counts 1 or more"
    is_timed = not is_verdict and base.CRITERIA[criterion].unit in base.QUANTILE_UNITS
    if rule.measure in ("p50", "p90", "p99") and not is_timed:
        return f"measure: {rule.measure} is of latencies and costs only, and {criterion} is none"
    return None


def build_criteria(config: EvalConfig) -> tuple[base.Criterion, ...]:
    """Returns the criteria of a config in order; raises ConfigError for a wrong one, or if there is none."""
    if not config.criteria:
        raise ConfigError("config: criteria: names no criterion")
    try:
        check_redaction(config.redact)
    except ValueError as error:
        raise ConfigError(f"config: {error}") from None
    for name, globs in (("tools", config.tools), ("prices", config.prices)):
        for glob in globs:
            try:
                check_glob(glob)
            except ValueError as error:
                raise ConfigError(f"config: {name}: {error}") from None
    criteria: list[base.Criterion] = []
    for name, value in config.criteria.items():
        if name == STATUS:
            raise ConfigError(
                f"config: criteria.{name}: it stands for the verdicts, and no criterion can have this name"
            )
        if name in config.custom_metrics:  # in place of any other criterion of its name, as in google-adk
            function = config.custom_metrics[name].code_config.name
            threshold = value.get("threshold") if isinstance(value, dict) else value
            criteria.append(base.CustomMetric(name=name, function=function, **_threshold(name, threshold)))
            continue
        kind = base.CRITERIA.find(name, "config: criteria.")
        fields = _snake_fields(name, value) if isinstance(value, dict) else _threshold(name, value)
        if config.adk_compat and "adk_compat" in kind.model_fields:
            fields.setdefault("adk_compat", True)
        for key, shared in (("tools", config.tools), ("prices", config.prices)):
            if key in fields:
                where = f"config: criteria.{name}.{key}"
                raise ConfigError(f"{where}: `{key}` stands beside `criteria`, for all of them")
            if key in kind.model_fields:
                fields[key] = shared
        with hook_errors(f"config: criteria.{name}", modules=[kind.__module__]):
            try:
                criteria.append(kind.model_validate(fields))
                criteria[-1].model_dump_json()
            except ValidationError as error:
                raise ConfigError(f"config: criteria.{name}: {_first_problem(error, kind)}") from None
            except PydanticSerializationError as error:
                step = "write ClassVar in the annotation of a field that is no setting"
                raise ConfigError(f"config: criteria.{name}: {error}; {step}") from None
    return tuple(criteria)


def _threshold(name: str, value: JsonValue) -> JsonObject:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"config: criteria.{name}: {shown(value)} is neither a threshold nor an object")
    return {"threshold": value}


def _snake_fields(name: str, value: JsonObject) -> JsonObject:
    fields = {snake_case(key): item for key, item in value.items()}
    if len(fields) < len(value):
        keys = [snake_case(key) for key in value]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ConfigError(f"{name}: {twice}: given in two spellings")
    return fields


def _first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    problems = error.errors()
    # A key that is misspelt says more than that its right spelling is missing.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        choices = [model]  # whose fields there are at its place; none where that is unknown
        for step in first["loc"][:-1]:
            field = choices[0].model_fields.get(snake_case(step)) if isinstance(step, str) else None
            if field is not None:
                choices = [kind for kind in _classes(field.annotation) if issubclass(kind, BaseModel)]
            elif isinstance(step, str):  # the name that stands for one of several models
                named = (
                    c for c in choices if any(step in get_args(f.annotation) for f in c.model_fields.values())
                )
                choices = list(named) or choices
            if not choices:
                break
        known = [*choices[0].model_fields] if choices else []
        return f"{path}: unknown field{did_you_mean(str(first['loc'][-1]), known)}"
    return f"{path}: {fault_text(first)}" if path else fault_text(first)


def _classes(annotation: Any) -> list[type]:
    if isinstance(annotation, type) and not get_args(annotation):
        return [annotation]
    return [kind for part in get_args(annotation) for kind in _classes(part)]


# Figures of panels and cascades, made of what a run counted.


def by_criterion(counts: Mapping[str, int], prefix: str) -> dict[str, Counter[str]]:
    """Returns the counts whose names begin with a prefix: criterion -> rest of the name -> number."""
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, number in sorted(counts.items()):
        if name.startswith(prefix):
            criterion, _, rest = name.removeprefix(prefix).partition("|")
            groups[criterion][rest] += number
    return dict(sorted(groups.items()))


def panel_figures(models: Sequence[str], questions: Mapping[str, int]) -> JsonObject:
    """Returns what a panel and each member of it did; `questions`: letters of verdicts -> number."""
    members: JsonObject = {}
    for index, model in enumerate(models):
        verdicts = passes = compared = 0
        bias = 0.0  # over the questions on which another member has a verdict
        for letters, number in questions.items():
            others = (letters[:index] + letters[index + 1 :]).replace(NO_VERDICT, "")
            if letters[index] == NO_VERDICT:
                continue
            passed = letters[index] == "P"
            verdicts, passes = verdicts + number, passes + number * passed
            if others:
                compared += number
                bias += number * (passed - others.count("P") / len(others))
        members[model] = {
            "verdicts": verdicts,
            "unmeasured": sum(questions.values()) - verdicts,
            "pass_rate": passes / verdicts if verdicts else None,
            "bias": bias / compared if compared else None,
        }
    return {**panel_summary(questions), "members": members}


def panel_summary(questions: Mapping[str, int]) -> JsonObject:
    """Returns what a panel did; `questions`: letters of the members' verdicts -> number of questions.

    `agreement` is the mean share of the members with a verdict that agree with the panel's, over the
    questions that it decided (see `majority`); `alpha` is Krippendorff's over the verdicts of all questions.
    """
    decided, agreement = 0, 0.0
    verdicts: Counter[str] = Counter()
    for letters, number in questions.items():
        given = letters.replace(NO_VERDICT, "")
        verdicts[given] += number
        most = max(Counter(given).values(), default=0)
        if 2 * len(given) > len(letters) and 2 * most > len(given):
            decided, agreement = decided + number, agreement + number * (most / len(given))
    return {
        "questions": sum(questions.values()),
        "decided": decided,
        "agreement": agreement / decided if decided else None,
        "alpha": nominal_alpha(verdicts),
    }


def cascade_figures(
    first: str, counts: Mapping[str, int], prices: Mapping[str, TokenPrices], candidates: bool
) -> JsonObject:
    """Returns what a cascade did for a criterion, by its counts, and what it saved.

    Saved is what the other judge would have been asked at least about the questions that the first one
    decided, by the counts of an estimate, less what the first one was asked about all. None: unknown, as with
    `candidates`, where several samples are one call.
    """
    number = Counter(counts)
    unsure = {kind: number[kind] for kind in ("votes", "confidence", "no_score")}
    spared: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, amount in counts.items():
        figure, _, model = name.partition(" ")
        if model and figure.startswith("spared_"):
            spared[model][figure.removeprefix("spared_")] += amount
    calls = sum(figures["calls"] for figures in spared.values()) - number["first_calls"]
    asked = {"tokens_in": number["first_tokens_in"], "tokens_out": number["first_tokens_out"]}
    tokens = sum(figures["tokens_in"] + figures["tokens_out"] for figures in spared.values())
    is_known = not (candidates or number["first_uncounted"])
    known = {model: price for model in {first, *spared} if (price := price_of(prices, model))}
    cost = None
    if is_known and known.keys() == {first, *spared}:
        spared_cost = sum(known[name].cost(n["tokens_in"], n["tokens_out"]) for name, n in spared.items())
        cost = spared_cost - known[first].cost(**asked)
    return {
        "first": first,
        "questions": number["questions"],
        "went_on": sum(unsure.values()),
        "unsure": unsure,
        "saved": {
            "calls": None if candidates else calls,
            "tokens": tokens - sum(asked.values()) if is_known else None,
            "cost": cost,
        },
    }


# Counts the verdicts of judges, of panels and of cascades, so that a run can sum them up.

JOINT_PANEL = "panel "
"""Start of the names of the counters of panels, `panel CRITERION|LETTERS`; see `verdict_letters`."""
JOINT_CASCADE = "cascade "
"""Start of the names of the counters of cascades, `cascade CRITERION|FIGURE` or `... FIGURE MODEL`."""
JUDGED, VERDICTS, INAPPLICABLE = "judged ", "verdicts", "not_applicable"
"""Start of the names of the counters of verdicts, `judged CRITERION|FIGURE`, and the figures."""
NO_VERDICT = "U"
SHORT_OF_BUDGET, LEFT_BY_BUDGET = "short_of_budget", "left_by_budget"
"""Counters of conversations with no score, and of those with no verdict, for a budget of the judge."""
SHORT_OF_BATCH, LEFT_BY_BATCH = "short_of_batch", "left_by_batch"
"""The same for batch jobs that failed or are late."""


def judged_counts(scored: ScoredConversation, status: str | None) -> Counter[str]:
    """Returns the counts of a conversation: of verdicts, panels, cascades, a spent budget, and batch jobs."""
    counts: Counter[str] = Counter()
    for entry in scored.scores:
        name = entry.criterion.name
        if entry.verdicts:
            counts[f"{JUDGED}{name}|{VERDICTS}"] += entry.verdicts
            counts[f"{JUDGED}{name}|{INAPPLICABLE}"] += entry.inapplicable
        if isinstance(entry.criterion, base.JudgedCriterion):
            scores = [score for _, score in entry.scores()]
            counts += joint_counts((name, score.details) for score in scores)
            if any(score.reason and "budget" in score.reason for score in scores):
                counts |= Counter({SHORT_OF_BUDGET: 1, LEFT_BY_BUDGET: int(status is None)})
            if any(score.reason and BATCH_JOB in score.reason for score in scores):
                counts |= Counter({SHORT_OF_BATCH: 1, LEFT_BY_BATCH: int(status is None)})
    return counts


def joint_counts(scores: Iterable[tuple[str, JsonObject | None]]) -> Counter[str]:
    """Returns the counts of some scores, each given by its criterion and its details."""
    counts: Counter[str] = Counter()
    for criterion, details in scores:
        if details and PANEL in details:
            counts[f"{JOINT_PANEL}{criterion}|{verdict_letters(details[PANEL])}"] += 1
        if details and CASCADE in details:
            cascade, first = details[CASCADE], details[CASCADE]["first"]
            figures = {
                "questions": 1,
                "first_calls": first["samples"] - first["cached"],
                "first_uncounted": int(first["tokens_in"] is None or first["tokens_out"] is None),
                "first_tokens_in": first["tokens_in"] or 0,
                "first_tokens_out": first["tokens_out"] or 0,
                **({cascade["unsure"]: 1} if cascade["unsure"] else {}),
            }
            for model, spared in (cascade["spared"] or {}).items():
                figures |= {f"spared_{figure} {model}": number for figure, number in spared.items()}
            for figure, number in figures.items():
                counts[f"{JOINT_CASCADE}{criterion}|{figure}"] += number
    return counts


def verdict_letters(panel: JsonObject) -> str:
    """Returns the verdicts of a panel's members in order, one letter each: P, F, O, or U for none."""
    return "".join((member["verdict"] or NO_VERDICT)[0] for member in panel["members"])
