"""Measures of agreement with human labels."""

from collections.abc import Sequence
from itertools import groupby


def balanced_accuracy(judged: Sequence[bool], labelled: Sequence[bool]) -> float:
    """Returns the mean of the shares of true and of false labels that were judged rightly, 0..1."""
    shares = []
    for label in (True, False):
        of_label = [judgement for judgement, truth in zip(judged, labelled, strict=True) if truth is label]
        shares.append(of_label.count(label) / len(of_label))
    return sum(shares) / len(shares)


def best_threshold(figures: Sequence[float], labelled: Sequence[bool]) -> float:
    """Returns the smallest threshold with the best balanced accuracy."""
    return max(
        sorted(set(figures)), key=lambda least: balanced_accuracy([f >= least for f in figures], labelled)
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Returns Spearman's rank correlation, -1..1; ties share their mean rank."""
    return _correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
    ranks, done = [0.0] * len(values), 0
    for _, group in groupby(sorted(range(len(values)), key=values.__getitem__), key=values.__getitem__):
        places = list(group)
        for place in places:
            ranks[place] = done + (len(places) - 1) / 2
        done += len(places)
    return ranks


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    means = [sum(values) / len(values) for values in (first, second)]
    pairs = [(x - means[0], y - means[1]) for x, y in zip(first, second, strict=True)]
    squares = sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs)
    return sum(x * y for x, y in pairs) / squares**0.5 if squares else 0.0


def area_under_curve(figures: Sequence[float], labelled: Sequence[bool]) -> float:
    """Returns the area under the ROC curve, 0..1: P(a positive ranks above a negative), ties as half."""
    ranks, positives = _ranks(figures), sum(labelled)
    above = sum(rank for rank, label in zip(ranks, labelled, strict=True) if label)
    return (above - positives * (positives - 1) / 2) / (positives * (len(labelled) - positives))
