"""Reads the sides of a comparison from output directories."""

from collections.abc import Iterator, Sequence
from typing import cast

from msgspec import Struct, field

from turnwise.pipeline.io.run_reader import FinishedRun, open_run
from turnwise.pipeline.io.terminal import printable
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import ConversationRow, ScoreRow
from turnwise.schemas.run import RunDocument
from turnwise.transforms.decisions.comparison.collect import (
    ComparedConversation,
    Summary,
    add_errors,
    collect,
    raised_errors,
    ruler_of,
)
from turnwise.transforms.decisions.comparison.sides import ComparedSide, columns_of

NO_VERSION = "(none)"
"""How an unknown app version is named on the command line."""
_VERSIONS_SHOWN = 10
_LOST = ("lost_records", "lost_conversations", "lost_cases", "unread_ends")
_Version = str | None


class VersionSides(Struct):
    """What a run holds, by app version.

    Attributes:
        run: The run.
        conversations: App version -> its conversations.
        rulers: App version -> criterion -> judge models and prompts.
        errors: App version -> criterion -> conversations with an error.
    """

    run: FinishedRun
    conversations: dict[_Version, list[ComparedConversation]] = field(default_factory=dict)
    rulers: dict[_Version, dict[str, set[str]]] = field(default_factory=dict)
    errors: dict[_Version, dict[str, int]] = field(default_factory=dict)

    @property
    def versions(self) -> list[str | None]:
        """The app versions; None: not stated."""
        return list(self.conversations)

    def side(self, version: _Version, name: str) -> ComparedSide:
        """Returns one app version as a side."""
        document = self.run.document
        return ComparedSide(
            name=name,
            source=self.run.directory,
            conversations=columns_of(self.conversations[version]),
            run_ids=[document.run_id],
            lost=sum(document.counts.get(name) or 0 for name in _LOST),
            problems=problems_of(document),
            document=document,
            rulers=self.rulers.get(version, {}),
            errors=self.errors.get(version, {}),
            calibration=self.run.calibration(),
        )


def sides_of(directories: Sequence[str], versions: Sequence[str]) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        directories: One or two output directories.
        versions: The two app versions; empty: the one version of each directory.

    Raises:
        ConfigError: A directory cannot be read or holds no conversation, or the versions are not clear.
    """
    return sides_of_runs([open_run(directory) for directory in directories], versions)


def sides_of_runs(
    directories: Sequence[FinishedRun], versions: Sequence[str]
) -> tuple[ComparedSide, ComparedSide]:
    """Does what `sides_of` does with runs that are open already; raises as it does."""
    runs = [_read(directory) for directory in directories]
    own, other = runs[0], runs[-1]
    if versions:
        chosen = [_find(run, version) for run, version in zip((own, other), versions, strict=True)]
    else:
        chosen = _only(runs)
    if own.run.document.run_id == other.run.document.run_id and chosen[0] == chosen[1]:
        raise ConfigError(
            f"{own.run.directory}: A and B are the same conversations of the same run; nothing to compare"
        )
    names = _names([own, other], chosen)
    return own.side(chosen[0], names[0]), other.side(chosen[1], names[1])


def problems_of(document: RunDocument) -> list[str]:
    """Returns why a run ended with exit status 1, one line each."""
    if document.exit_status and not document.problems:
        return [f"it ended with exit status {document.exit_status}"]
    return document.problems


def _read(run: FinishedRun) -> VersionSides:
    found = read_versions(run)
    if not found.conversations:
        raise ConfigError(f"{run.directory}: holds no scored conversation")
    return found


def read_versions(run: FinishedRun) -> VersionSides:
    """Returns the scored conversations of a run, by app version.

    Raises:
        ConfigError: A file cannot be read.
    """
    run.check_results()
    found = VersionSides(run)
    failures = [row for row in run.failures() if row["stage"] == "score" and row["criterion"]]
    conversations = collect(_noting(found), _summaries(run))
    add_errors(conversations, raised_errors(failures))
    for conversation in conversations:
        found.conversations.setdefault(conversation.app_version, []).append(conversation)
    for failure in failures:
        errors = found.errors.setdefault(failure["app_version"], {})
        errors[failure["criterion"] or ""] = errors.get(failure["criterion"] or "", 0) + 1
    return found


def _noting(found: VersionSides) -> Iterator[ScoreRow]:
    """Yields the score rows, and notes which judges scored them."""
    for row in found.run.scores():
        ruler = ruler_of(row)
        if ruler is not None:
            found.rulers.setdefault(row["app_version"], {}).setdefault(row["criterion"], set()).add(ruler)
        yield row


def _summaries(run: FinishedRun) -> Iterator[Summary]:
    """Yields the verdicts: from the table of conversations or, where a run has none, from the results."""
    if run.has("conversations"):
        for row in cast("Iterator[ConversationRow]", run.rows("conversations")):
            yield Summary(
                conversation_id=row["conversation_id"],
                app_version=row["app_version"],
                verdict=row["verdict"],
                reason=row["reason"],
                eval_id=row["eval_id"],
                task=row["task"],
                case_digest=row["case_digest"] or "",
                language=row["language"],
                tags=row["tags"],
                revision=row["revision"],
                sampled_out=row.get("sampled_out") or (),
            )
        return
    for result in run.results():
        version = result["result"].get("appVersion") or None
        yield Summary(result["conversation_id"], version, result["evaluation_status"])


def _find(run: VersionSides, wanted: str) -> _Version:
    """Returns the app version of a name, which may be its last part, or how texts show it."""
    known = run.conversations.keys()
    if wanted in known:
        return wanted
    if wanted in (NO_VERSION, "") and None in known:
        return None
    found = [own for own in known if own and wanted in (own.rsplit("/", 1)[-1], printable(own))]
    if len(found) == 1:
        return found[0]
    what = "names several app versions" if found else "is no app version with scored conversations"
    raise ConfigError(f"--versions {wanted}: {what} in {run.run.directory} (there are: {_listed(run)})")


def _only(runs: Sequence[VersionSides]) -> list[_Version]:
    """Returns the one version of each of two runs."""
    if len(runs) == 1:
        run = runs[0]
        if len(run.conversations) == 1:
            raise ConfigError(
                f"{run.run.directory}: holds one app version, {_listed(run)}; name a second directory to "
                "compare it with"
            )
        raise ConfigError(
            f"{run.run.directory}: --versions names the base and the candidate (there are: {_listed(run)})"
        )
    for run in runs:
        if len(run.conversations) > 1:
            raise ConfigError(
                f"{run.run.directory}: holds {len(run.conversations)} app versions; --versions names one of "
                f"each directory (there are: {_listed(run)})"
            )
    return [next(iter(run.conversations)) for run in runs]


def _listed(run: VersionSides) -> str:
    names = sorted(version or NO_VERSION for version in run.conversations)
    more = f" and {len(names) - _VERSIONS_SHOWN} more" if len(names) > _VERSIONS_SHOWN else ""
    return ", ".join(names[:_VERSIONS_SHOWN]) + more


def _names(runs: Sequence[VersionSides], versions: Sequence[_Version]) -> list[str]:
    """Returns how texts call the sides: by the version, or by the directory where versions are the same."""
    if versions[0] == versions[1]:
        paths = [run.run.directory.rstrip("/") for run in runs]
        short = [path.rsplit("/", 1)[-1] for path in paths]
        return short if short[0] != short[1] else paths
    full = [version or NO_VERSION for version in versions]
    short = [version.rsplit("/", 1)[-1] for version in full]
    return short if short[0] != short[1] else full
