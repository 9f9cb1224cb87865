"""Writes the files that are made from declarations: `python docs/generate.py`.

criteria-reference.md is made from the classes of the criteria, columns.md and schemas/avro from those of
the rows, deploy/template_metadata.json from the options of `turnwise run`.
"""

import inspect
import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from turnwise.pipeline.cli.arguments import command_parser
from turnwise.pipeline.io.bigquery_sink import BIGQUERY_TYPES
from turnwise.schemas.rows import ARROW_TYPES, TABLES, MetricRow, avro_schema
from turnwise.transforms.criteria.base import CRITERIA, Criterion, JudgedCriterion

_COMMON = {"threshold", "judge_model_options", "sample_rate", "tools"}
_INTRODUCTION = """\
# Reference of the criteria

<!-- Made by `python docs/generate.py` from the classes in transforms/criteria. Do not edit. -->

[Criteria](criteria.md) explains how values are compared. Every criterion has the field `threshold`. A judged
criterion also has `judge_model_options` (`judge_model`, `judge_model_config`, `num_samples`,
`panel`, `cascade`: [judges](judges.md#panels)) and `sample_rate` (0 to 1).
"""
_COLUMNS = """\
# Columns of the tables

<!-- Made by `python docs/generate.py` from the classes in schemas/rows.py. Do not edit. -->

[Outputs](outputs.md) lists the files. JSON Lines, Avro and the data frames of the
[Python API](python-api.md) have these columns.
In a [data warehouse](warehouse.md), the tables with a `run_id` also have the column `date`.
"""
# What the form of a job accepts; a file or directory of the job is in Cloud Storage.
_PATTERNS = {
    "config": "^gs://.+",
    "output": "^gs://.+",
    "baseline": "^gs://.+",
    "date": r"^(yesterday|today|\d{4}-\d{2}-\d{2})$",
    "max_failure_ratio": r"^(0|1|0?\.\d+)$",
    "sample_rate": r"^(0|1|0?\.\d+)$",
}
_TYPES = {"text": "string", "integer": "long", "number": "double"}
_TABLE = "| criterion | when to use | scale | threshold |\n|---|---|---|---|\n"


class Docstring(NamedTuple):
    """The parts of a criterion's docstring.

    Attributes:
        description: Paragraphs that say what the value is.
        when: When to use the criterion.
        fields: Name of a field -> what it does.
    """

    description: list[str]
    when: str
    fields: dict[str, str]


def shipped() -> dict[str, type[Criterion]]:
    """Returns the criteria of this package by name, in alphabetical order."""
    package = Criterion.__module__.split(".")[0]
    own = {name: kind for name, kind in CRITERIA.items() if kind.__module__.split(".")[0] == package}
    return dict(sorted(own.items()))


def read_docstring(kind: type) -> Docstring:
    """Returns the parts of a class's docstring; "" and {} for those that it does not have."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\n>>>")[0]
    head, _, attributes = text.partition("\nAttributes:\n")
    paragraphs = [" ".join(text.split()) for text in head.strip().split("\n\n")]
    when = next((text.partition(": ")[2] for text in paragraphs if text.startswith("When to use: ")), "")
    entries = [" ".join(text.split()) for text in re.split(r"\n(?=    \w+: )", attributes) if text.strip()]
    fields = dict(entry.split(": ", 1) for entry in entries)
    return Docstring([text for text in paragraphs if not text.startswith("When to use: ")], when, fields)


def field_meaning(kind: type[Criterion], name: str) -> str:
    """Returns what the nearest class that describes a field says of it; "" if none does."""
    found = (read_docstring(base).fields.get(name) for base in kind.__mro__ if issubclass(base, Criterion))
    return next((text for text in found if text), "")


def own_fields(kind: type[Criterion]) -> dict[str, FieldInfo]:
    """Returns the fields that a criterion has beside those of all criteria."""
    return {name: field for name, field in kind.model_fields.items() if name not in _COMMON}


def columns_page() -> str:
    """Returns the text of columns.md."""
    parts = [_COLUMNS, _types_table()]
    for name, kind in TABLES.items():
        if name == "metrics_by_app_version":
            parts.append(_columns_section("Metrics", MetricRow, set()))
        parts.append(_columns_section(name, kind, set(MetricRow.__annotations__)))
    return "\n".join(parts)


def _types_table() -> str:
    """Returns the types of Avro, Arrow and BigQuery."""
    names = [(name, kind, ARROW_TYPES[kind], BIGQUERY_TYPES[kind]) for name, kind in _TYPES.items()]
    names += [
        ("object", *(f"{kind}, its JSON text" for kind in ("string", "string", "STRING"))),
        ("list", "array of string", "list of string", "STRING, repeated"),
    ]
    names.append(("date", "", ARROW_TYPES["date"], BIGQUERY_TYPES["date"]))
    head = "| type | Avro | Arrow, Parquet | BigQuery |\n|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(row)} |\n" for row in names)


def _columns_section(title: str, kind: type, common: set[str]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    shared = common <= hints.keys()
    own = [name for name in hints if not (shared and name in common)]
    more = " It has the columns of [all metrics](#metrics), and:" if shared and common else ""
    rows = [
        f"| `{name}` | {_type(hint)} | {meaning} |\n"
        for name in own
        for hint, meaning, *_ in [get_args(hints[name])]
    ]
    head = "| column | type | meaning |\n|---|---|---|\n"
    return f"## {title}\n\n{' '.join(read_docstring(kind).description)}{more}\n\n{head}{''.join(rows)}"


def criteria_page() -> str:
    """Returns the text of criteria-reference.md."""
    judged = {name: kind for name, kind in shipped().items() if issubclass(kind, JudgedCriterion)}
    measured = {name: kind for name, kind in shipped().items() if name not in judged}
    parts = [_INTRODUCTION]
    for title, kinds in (("Measured", measured), ("Judged", judged)):
        parts.append(f"## {title}\n\n{_TABLE}{''.join(map(_row, kinds.values()))}")
        parts += map(_section, kinds.values())
    return "\n".join(parts)


def _row(kind: type[Criterion]) -> str:
    when = read_docstring(kind).when.replace("|", "\\|")
    return f"| [`{kind.name}`](#{kind.name}) | {when} | {_scale(kind)} | {_threshold(kind)} |\n"


def _section(kind: type[Criterion]) -> str:
    facts = [f"- Scale: {_scale(kind)}", f"- Threshold: {_threshold(kind)}{_gate(kind)}"]
    if kind.rests_on:
        facts.append(f"- No score where the log may miss: {' or '.join(kind.rests_on)}")
    if kind.applies_always:
        facts.append(f"- With a threshold, no score where the log lacks: {kind.needs}")
    if issubclass(kind, JudgedCriterion):
        facts.append(f"- Samples: {kind.default_samples}")
    text = "\n\n".join(read_docstring(kind).description)
    return f"### {kind.name}\n\n{text}\n\n" + "\n".join(facts) + f"\n{_fields(kind)}"


def _fields(kind: type[Criterion]) -> str:
    rows = [
        f"| `{name}` | {_type(field.annotation)} | `{_default(field)}` | {field_meaning(kind, name)} |\n"
        for name, field in own_fields(kind).items()
    ]
    return "\n| field | type | default | meaning |\n|---|---|---|---|\n" + "".join(rows) if rows else ""


def _scale(kind: type[Criterion]) -> str:
    if kind.scale is None:
        return kind.unit
    return f"{kind.scale[0]:g} to {kind.scale[1]:g}"


def _threshold(kind: type[Criterion]) -> str:
    default = kind.model_fields["threshold"].default
    return "none" if default is None else f"{default:g}"


def _gate(kind: type[Criterion]) -> str:
    return " (a threshold is an upper bound)" if kind.gate == "at_most" else ""


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    names = {bool: "boolean", str: "text", int: "integer", float: "number", list: "list", dict: "object"}
    chosen = get_origin(annotation) or annotation
    if chosen in names:
        return names[chosen]
    return " or ".join("null" if part is type(None) else _type(part) for part in get_args(annotation))


def _default(field: FieldInfo) -> str:
    return json.dumps(field.get_default(call_default_factory=True))


def template_metadata() -> str:
    """Returns the parameters of a Dataflow Flex Template: the options of `turnwise run`, as JSON text.

    The form is Google's `TemplateMetadata` of Flex Templates. A parameter always has a value, so
    that a flag is a boolean here, which deploy/launch.py passes on as a flag.
    """
    parameters = []
    for action in command_parser()._actions:
        if action.dest == "help":
            continue
        entry: dict[str, Any] = {"name": action.dest, "label": action.dest.replace("_", " ").capitalize()}
        entry["helpText"] = action.help
        if action.dest not in ("input", "output"):
            entry["isOptional"] = True
        pattern = "^(true|false)$" if action.nargs == 0 else _PATTERNS.get(action.dest)
        if pattern:
            entry["regexes"] = [pattern]
        parameters.append(entry)
    document = {
        "name": "turnwise",
        "description": "Scores recorded conversations between people and agents, turn by turn.",
        "parameters": parameters,
    }
    return json.dumps(document, indent=1) + "\n"


def avro_text(table: str) -> str:
    """Returns the Avro schema of a table."""
    return json.dumps(avro_schema(table), indent=2, ensure_ascii=False) + "\n"


FILES = {
    "docs/criteria-reference.md": criteria_page,
    "docs/columns.md": columns_page,
    "deploy/template_metadata.json": template_metadata,
    **{f"schemas/avro/{table}.avsc": partial(avro_text, table) for table in TABLES},
}
"""Path of a file -> the function that makes it."""

if __name__ == "__main__":
    for path, make in FILES.items():
        (Path(__file__).parents[1] / path).write_text(make(), encoding="utf-8")
