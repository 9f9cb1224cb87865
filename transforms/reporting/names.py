"""Short names of app versions, unique in a report."""

from collections.abc import Iterator, Sequence

from turnwise.transforms.decisions.report.collect import VersionKey


def short_names(versions: Sequence[VersionKey]) -> Iterator[str]:
    """Yields the last segments of the versions; with a number of the run where two are the same."""
    short = [version.app_version.rsplit("/", 1)[-1] or "(no version)" for version in versions]
    for name, version in zip(short, versions, strict=True):
        same = [other for other, seen in zip(versions, short, strict=True) if seen == name]
        if len(same) == 1:
            yield name
        elif len({other.run for other in same}) == len(same):
            yield f"{name} (run {version.run + 1})"
        else:
            yield f"{version.app_version} (run {version.run + 1})"
