"""Figures of panels and cascades, made of what a run counted."""

from collections import Counter
from collections.abc import Mapping, Sequence

from turnwise.schemas.config import TokenPrices
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.scoring.joint.counting import JOINT_CASCADE, JOINT_PANEL, NO_VERDICT
from turnwise.transforms.statistics.agreement import nominal_alpha

_DOUBTS = ("votes", "confidence", "unscored")


def by_criterion(counts: Mapping[str, int], prefix: str) -> dict[str, Counter[str]]:
    """Returns the counts whose names begin with a prefix: criterion -> rest of the name -> number."""
    found: dict[str, Counter[str]] = {}
    for name, number in sorted(counts.items()):
        if name.startswith(prefix):
            criterion, _, rest = name.removeprefix(prefix).partition("|")
            found.setdefault(criterion, Counter())[rest] += number
    return found


def panel_counts(counts: Mapping[str, int]) -> dict[str, Counter[str]]:
    """Returns criterion -> letters of the members' verdicts -> number of questions."""
    return by_criterion(counts, JOINT_PANEL)


def cascade_counts(counts: Mapping[str, int]) -> dict[str, Counter[str]]:
    """Returns criterion -> figure -> number."""
    return by_criterion(counts, JOINT_CASCADE)


def panel_figures(models: Sequence[str], questions: Mapping[str, int]) -> JsonObject:
    """Returns what a panel and each member of it did for a criterion.

    Args:
        models: The members.
        questions: Letters of their verdicts -> number of questions.
    """
    members = {model: _member(place, questions) for place, model in enumerate(models)}
    return {**panel_summary(questions), "members": members}


def panel_summary(questions: Mapping[str, int]) -> JsonObject:
    """Returns what a panel did.

    `agreement` is the mean share of the members with a verdict that agree with the panel's, over the
    questions that it decided; `alpha` is Krippendorff's over the verdicts of all questions.

    Args:
        questions: Letters of the members' verdicts -> number of questions.
    """
    decided, agreement = 0, 0.0
    for letters, number in questions.items():
        share = _agreement(letters)
        if share is not None:
            decided, agreement = decided + number, agreement + number * share
    given: Counter[str] = Counter()
    for letters, number in questions.items():
        given[letters.replace(NO_VERDICT, "")] += number
    return {
        "questions": sum(questions.values()),
        "decided": decided,
        "agreement": agreement / decided if decided else None,
        "alpha": nominal_alpha(given),
    }


def _agreement(letters: str) -> float | None:
    """Returns the share of the verdicts that are the panel's; None: it has none (see `majority`)."""
    given = letters.replace(NO_VERDICT, "")
    most = max(Counter(given).values(), default=0)
    return most / len(given) if 2 * len(given) > len(letters) and 2 * most > len(given) else None


def _member(place: int, questions: Mapping[str, int]) -> JsonObject:
    """Returns the figures of one member; `bias` is over the questions on which another one has a verdict."""
    verdicts = passes = compared = 0
    bias = 0.0
    for letters, number in questions.items():
        own = letters[place]
        others = (letters[:place] + letters[place + 1 :]).replace(NO_VERDICT, "")
        if own == NO_VERDICT:
            continue
        verdicts += number
        passes += number * (own == "P")
        if others:
            compared += number
            bias += number * ((own == "P") - others.count("P") / len(others))
    return {
        "verdicts": verdicts,
        "unmeasured": sum(questions.values()) - verdicts,
        "pass_rate": passes / verdicts if verdicts else None,
        "bias": bias / compared if compared else None,
    }


def cascade_figures(
    first: str, counts: Mapping[str, int], prices: Mapping[str, TokenPrices], candidates: bool
) -> JsonObject:
    """Returns what a cascade did for a criterion, and what it saved.

    Saved is what the other judge would have been asked at least about the questions that the first one
    decided, by the counts of an estimate, less what the first one was asked about all. None: unknown.

    Args:
        first: The model that is asked first.
        counts: Figure -> number.
        prices: Model -> prices.
        candidates: Whether several samples are one call, so that calls and prompts cannot be counted here.
    """
    number = Counter(counts)
    unsure = {kind: number[kind] for kind in _DOUBTS}
    spared = _spared(counts)
    calls = sum(each["calls"] for each in spared.values()) - number["first_calls"]
    tokens = sum(each["tokens_in"] + each["tokens_out"] for each in spared.values())
    tokens -= number["first_tokens_in"] + number["first_tokens_out"]
    is_known = not (candidates or number["first_uncounted"])
    own = {"tokens_in": number["first_tokens_in"], "tokens_out": number["first_tokens_out"]}
    is_priced = is_known and prices.keys() >= {first, *spared}
    cost = sum(_cost(prices[model], each) for model, each in spared.items()) if is_priced else 0.0
    return {
        "first": first,
        "questions": number["questions"],
        "went_on": sum(unsure.values()),
        "unsure": unsure,
        "saved": {
            "calls": None if candidates else calls,
            "tokens": tokens if is_known else None,
            "cost": cost - _cost(prices[first], own) if is_priced else None,
        },
    }


def _spared(counts: Mapping[str, int]) -> dict[str, Counter[str]]:
    """Returns model -> calls and tokens that were spared."""
    found: dict[str, Counter[str]] = {}
    for name, number in counts.items():
        figure, _, model = name.partition(" ")
        if model and figure.startswith("spared_"):
            found.setdefault(model, Counter())[figure.removeprefix("spared_")] += number
    return found


def _cost(prices: TokenPrices, tokens: Mapping[str, int]) -> float:
    spent = tokens["tokens_in"] * prices.input_per_million + tokens["tokens_out"] * prices.output_per_million
    return spent / 1e6
