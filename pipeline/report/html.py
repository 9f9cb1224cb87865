"""Writes a report: the page of joined modules, and beside it the transcripts that it has no room for."""

import gzip
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

import msgspec

from turnwise.pipeline.report.comparison import VERSIONS_SHOWN, first_page, nothing_common, settings_problem
from turnwise.pipeline.runs.directory import REPORT_DATA, versions_named, write_whole
from turnwise.schemas.comparison import NO_VERSION, Comparison, FirstPage
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, listed
from turnwise.schemas.report import Report
from turnwise.transforms.decisions.comparison.collect import version_order
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions
from turnwise.transforms.decisions.comparison.sides import ComparedSide
from turnwise.transforms.decisions.first_page import NAMED
from turnwise.transforms.decisions.report import figures
from turnwise.transforms.decisions.report.document import PlacedChunks, build_report
from turnwise.transforms.decisions.run import Run, read_versions

INLINE_CHARACTERS = 5_000_000


def write_report(
    path: Path,
    runs: Sequence[Run],
    compared: figures.Compared,
    *,
    single_file: bool = False,
    inline_characters: int = INLINE_CHARACTERS,
) -> Report:
    """Writes a report and returns its data.

    In a single file, transcripts that have no room in the page are left out. Raises ConfigError if files
    beside the page are not those of an earlier report.
    """
    directory = path.parent / REPORT_DATA
    for file in sorted(directory.glob("*")):
        if not (file.suffix == ".js" and file.stem.isdigit()):
            raise ConfigError(f"{file}: is no file of an earlier report; name another directory")
        file.unlink()
    report, text = _built(runs, compared, None if single_file else directory, inline_characters)
    write_whole(path, text)
    return report


def report_page(runs: Sequence[Run], compared: figures.Compared, home: str = "") -> str:
    """Returns a report as one page; transcripts that have no room in it are left out, which it says.

    `home` is the address that its name leads to; "": nowhere.
    """
    return _built(runs, compared, None, INLINE_CHARACTERS, home)[1]


def _built(
    runs: Sequence[Run], compared: figures.Compared, directory: Path | None, limit: int, home: str = ""
) -> tuple[Report, str]:
    """Returns a report and its page, which keeps the first chunks of transcripts.

    The others are written into the directory; None: they are left out.
    """
    inline: list[str] = []

    def keep(report_id: str, chunks: Iterable[tuple[list[int], str]]) -> PlacedChunks:
        chunk_of: dict[int, int] = {}
        size = number = 0
        for number, (places, text) in enumerate(chunks):
            chunk = packed(text)
            size += len(chunk)
            if size <= limit:
                inline.append(chunk)
            elif directory is None:
                return PlacedChunks(number, number, chunk_of)
            else:
                content = f'reportChunk("{report_id}", {number}, "{chunk}");\n'
                write_whole(directory / f"{number:03}.js", content)
            chunk_of |= dict.fromkeys(places, number)
        return PlacedChunks(len(inline), number + 1 if chunk_of else 0, chunk_of)

    report = build_report(runs, compared, keep, keeps_few=directory is None)
    names = ", ".join(version.name for version in report.versions)
    data = {"report": packed(figures.exact_json(msgspec.to_builtins(report)))}
    data |= {f"chunk-{i}": chunk for i, chunk in enumerate(inline)}
    has_more = report.chunks > report.inline_chunks
    return report, _joined("main", f"{_TITLE}{names}", data, home, loads=has_more)


_FRONT_END = files("turnwise.pipeline.report") / "page"
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types report"
)


_TITLE = "turnwise report: "
_MARK = f"<title>{_TITLE}".encode()
_HEAD = 4096


def is_report(path: Path) -> bool:
    """Returns whether a file is a page of `turnwise report`, by its beginning; False: it cannot be read."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return _MARK in file.read(_HEAD)
    except OSError:
        return False


def packed(text: str) -> str:
    """Returns a text compressed by gzip, in base64, which no markup can be in."""
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def service_page(title: str, data: JsonObject) -> str:
    """Returns a page of `turnwise serve`: what `service.js` shows of the data."""
    return _joined("service", f"{title} - turnwise", {"service": packed(figures.exact_json(data))}, "/")


def _joined(start: str, title: str, data: Mapping[str, str], home: str, loads: bool = False) -> str:
    """Returns a page that begins with a module, and holds packed data by the ids of their elements."""
    scripts = [_text("vendor/uplot.js"), join_modules(lambda name: _text(f"{name}.js"), start)]
    styles = [_text("vendor/uplot.css"), _text("page.css")]
    of_scripts, of_styles = (
        " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)
        for texts in (scripts, styles)
    )
    of_scripts += " 'strict-dynamic'" if loads else ""
    return _text("page.html").format(
        policy=escape(_POLICY.format(scripts=of_scripts, styles=of_styles)),
        title=escape(title.encode("utf-8", "replace").decode()),
        brand=f'<a href="{escape(home)}">turnwise</a>' if home else "turnwise",
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        data="\n".join(
            f'<script type="application/octet-stream" id="{name}">{content}</script>'
            for name, content in data.items()
        ),
        library=f"<script>{scripts[0]}</script>",
        script=f'<script type="module">{scripts[1]}</script>',
    )


def _text(name: str) -> str:
    return (_FRONT_END / name).read_text(encoding="utf-8")


# Joins ES modules into one script, so that a page needs no other file and no build step.
#
# Each module becomes a function of its own that returns its exports, called once, after those that it imports
# from. Only `import { a, b } from "./x.js";` and `export` before a declaration are supported.

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_UNSUPPORTED = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def join_modules(read: Callable[[str], str], start: str) -> str:
    """Returns the script of a module and of all that it imports; `read` returns the text of a module.

    Raises ValueError if modules import each other, or one has an import or export of another form.
    """
    done: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise ValueError(f"modules import each other: {', '.join((*above, name))}")
        if name in done:
            return
        text = read(name)
        for match in _IMPORT.finditer(text):
            add(match[2], (*above, name))
        exports = ", ".join(_EXPORT.findall(text))
        body = _IMPORT.sub(lambda match: f'const {{{match[1]}}} = modules["{match[2]}"];', text)
        body = _EXPORT.sub("", body)
        if rest := _UNSUPPORTED.search(body):
            raise ValueError(f"{name}: {rest[0]}: is not supported")
        done[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n'

    add(start)
    return "const modules = {};\n" + "".join(done.values())


MOST_COMPARED = 4


def compare_versions(
    runs: Sequence[Run], baseline: str | None = None, candidate: str | None = None
) -> figures.Compared:
    """Compares the baseline with the other stated versions, and the last two with each other.

    Those that were measured otherwise are refused. The first pair is the one that the report begins with: of
    more than two runs, such as one a night, the last one against the one before it. Versions that are not
    named are those that the runs decide. Raises ConfigError if a run cannot be read, or has no such version.
    """
    for run in runs:
        run.check_results()
    read = [read_versions(run) for run in runs]
    versions = (figures.VersionKey(i, v or "") for i, run in enumerate(read) for v in run.conversations)
    keys = figures.in_display_order(versions, [run.first_times for run in read])
    names = zip(keys, figures.short_names(keys, figures.run_names(runs)), strict=True)
    # All versions where no log states one, or where those without one are named.
    is_stated = any(key.app_version for key in keys) and NO_VERSION not in (baseline, candidate)
    named = ((key, name) for key, name in names if key.app_version or not is_stated)
    keyed = [(key, read[key.run].side(key.app_version or None, name)) for key, name in named]
    how = "baseline and candidate are the first and the last version of the runs in their order"
    if len(runs) == 1:
        how = version_order(read[0].first_times).how
    for option, name, index in (("--baseline", baseline, 0), ("--candidate", candidate, len(keyed) - 1)):
        if name is not None:
            wanted = versions_named(name, [key.app_version or None for key, _ in keyed])
            is_meant = [name == side.name or (key.app_version or None) in wanted for key, side in keyed]
            places = [number for number, is_it in enumerate(is_meant) if is_it]
            if len({keyed[number][0].app_version for number in places}) != 1:
                what = "names several app versions" if places else "is no app version"
                known = listed([side.name for _, side in keyed], VERSIONS_SHOWN)
                raise ConfigError(f"{option} {name}: {what} here (there are: {known})")
            if option == "--candidate" and baseline is not None and places[0] == 0:
                raise ConfigError(f"--candidate {name}: is the baseline, too; nothing to compare")
            keyed.insert(index, keyed.pop(places[0]))
            how = NAMED
    result: list[tuple[Comparison, FirstPage]] = []
    refused: list[str] = []
    for (first, last), why in _pairs([key for key, _ in keyed], how).items():
        if len(result) > MOST_COMPARED:
            break
        key, side = keyed[last]
        comparison = compare_sides(keyed[first][1], side)
        if isinstance(comparison, str):
            refused.append(comparison)
            if how == NAMED and not result:
                break  # no other pair answers what was asked
            continue
        result.append((comparison, first_page(comparison, runs[key.run], key.app_version or None, why)))
    if len(refused) > 1:
        more = "1 more pair" if len(refused) == 2 else f"{len(refused) - 1} more pairs"
        refused[1:] = [f"For such a reason, {more} of versions cannot be compared."]
    return figures.Compared([pair for pair, _ in result], refused, [page for _, page in result])


def _pairs(keys: Sequence[figures.VersionKey], how: str) -> dict[tuple[int, int], str]:
    """Returns the places of baseline and candidate of each pair -> how they were chosen."""
    last = len(keys) - 1
    others = range(last - 1, 0, -1)
    pairs = {(0, last): how} if last > 0 else {}
    earlier = {key.run for key in keys if key.run < keys[last].run} if keys else set()
    if len(earlier) > 1 and how != NAMED:
        before = [index for index, key in enumerate(keys) if key.run == max(earlier)]
        same = [index for index in before if keys[index].app_version == keys[last].app_version]
        pairs = {((same or before)[-1], last): "baseline and candidate are of the last two runs"} | pairs
    elif others and how != NAMED:
        pairs[last - 1, last] = "baseline and candidate are the last two versions in their order"
    return pairs | {(0, other): "baseline and candidate were chosen above" for other in others}


def compare_sides(a: ComparedSide, b: ComparedSide) -> Comparison | str:
    """Returns the comparison, or why there is none."""
    if problem := settings_problem(a, b):
        return f"Not compared: {problem}."
    comparison = compare(a, b, CompareOptions())
    nothing = nothing_common(comparison)
    return f"{b.name} is not compared with {a.name}: {nothing}." if nothing else comparison
