"""Checks that the rules of a gate can ever be decided by the criteria of a run."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from turnwise.schemas.config import AllPassRule, BoundRule, ConfigError, GateConfig
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.decisions.gate.measured import scale_of
from turnwise.transforms.scoring.evaluate import STATUS


def check_gate(gate: GateConfig, criteria: Iterable[Criterion]) -> None:
    """Raises ConfigError if a rule of the config can never be decided by its criteria."""
    fault = gate_fault(gate, {criterion.name: criterion.threshold for criterion in criteria})
    if gate.rules and fault:
        raise ConfigError(f"config: gate.{fault}")


def gate_fault(gate: GateConfig, thresholds: Mapping[str, float | None]) -> str | None:
    """Returns the first mistake, after its place in the section; None: there is none.

    Args:
        gate: The rules.
        thresholds: Criterion of the run -> its threshold, or None.
    """
    for index, name in enumerate(gate.primary):
        if fault := _name_fault(name, thresholds):
            return f"primary.{index}: {fault}"
    for index, rule in enumerate(gate.rules):
        criterion = getattr(rule, "criterion", None)
        fault = criterion and _name_fault(criterion, thresholds)
        if not fault and isinstance(rule, BoundRule):
            fault = _bound_fault(rule, thresholds)
        elif isinstance(rule, AllPassRule):
            fault = outcome_fault(rule.criterion, thresholds)
        if fault:
            return f"rules.{index}.{fault if fault.startswith('at_') else f'criterion: {fault}'}"
    return None


def outcome_fault(criterion: str, thresholds: Mapping[str, float | None]) -> str | None:
    """Returns why a criterion has no outcome in a run, or is not in it; None: it can have one."""
    fault = _name_fault(criterion, thresholds)
    is_open = not fault and criterion != STATUS and thresholds[criterion] is None and not scale_of(criterion)
    return f"{criterion} has no threshold in the config, so it cannot fail" if is_open else fault


def _name_fault(name: str, thresholds: Mapping[str, float | None]) -> str | None:
    if name == STATUS or name in thresholds:
        return None
    near = get_close_matches(name, [*thresholds, STATUS], n=1)
    return f"{name!r} is not among the config's criteria" + (f" (did you mean {near[0]}?)" if near else "")


def _bound_fault(rule: BoundRule, thresholds: Mapping[str, float | None]) -> str | None:
    scale = scale_of(rule.criterion)
    if rule.measure == "pass_rate":
        return outcome_fault(rule.criterion, thresholds)
    bounds = [bound for bound in (rule.at_least, rule.at_most) if bound is not None]
    if scale and not all(scale[0] <= bound <= scale[1] for bound in bounds):
        return f"at_least, at_most: a mean of {rule.criterion} lies between {scale[0]:g} and {scale[1]:g}"
    return None
