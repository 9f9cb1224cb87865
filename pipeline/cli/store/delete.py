"""The subcommand `delete`: erases a conversation or a user."""

from argparse import ArgumentParser, Namespace
from collections import Counter
from contextlib import closing
from json import JSONDecodeError
from time import time_ns
from typing import TYPE_CHECKING

from turnwise.pipeline.cli.store.base import StoreCommand
from turnwise.pipeline.cli.store.overwriting import overwritten
from turnwise.pipeline.io.terminal import complain, printable, say
from turnwise.pipeline.settings.user import current_user
from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from turnwise.pipeline.store.engine import Store
    from turnwise.pipeline.store.maintenance.erasing import Erasing
    from turnwise.pipeline.store.maintenance.subject import Subject

_NOT_REACHED = (
    "not reached: output directories, reports, exports and backups; "
    "what was erased comes back if its log is scored again"
)


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=("conversation", "user"), help="what ID names")
    parser.add_argument(
        "id", metavar="ID", help="id of a conversation, its name in the store, or id of a user"
    )
    parser.add_argument(
        "--app", nargs="+", action="extend", default=[], metavar="NAME",
        help="apps whose conversation is meant, if several have one of that id",
    )  # fmt: skip
    parser.add_argument(
        "--erase", nargs="+", action="extend", default=[], metavar="NAME",
        help="evaluations, expectations and datasets that were made of it: they go with their history",
    )  # fmt: skip
    parser.add_argument(
        "--keep", nargs="+", action="extend", default=[], metavar="NAME",
        help="those that stay although they hold words of it",
    )  # fmt: skip
    parser.add_argument(
        "--judge_cache", nargs="+", action="extend", default=[], metavar="FILE",
        help="judge.cache of the config: all of its replies are deleted",
    )  # fmt: skip
    parser.add_argument(
        "--unattributed_failures", action="store_true",
        help="empty all failures whose record names no conversation of the store",
    )  # fmt: skip
    parser.add_argument("--dry_run", action="store_true", help="say what would be erased, and change nothing")


def _run(options: Namespace) -> int:
    from turnwise.pipeline.store.urls import StoreError

    try:
        return _delete(options)
    except JSONDecodeError as error:
        why = f"a row of the store cannot be read ({error}); turnwise store check names it"
        raise StoreError(f"{why}; not all of {options.id} is erased") from None


def _delete(options: Namespace) -> int:
    from turnwise.pipeline.store.engine import open_store
    from turnwise.pipeline.store.maintenance.caches import caches_of, check_caches
    from turnwise.pipeline.store.maintenance.erasing import Erasing
    from turnwise.pipeline.store.maintenance.left import left_quotes, left_rows

    check_caches(options.judge_cache)
    erasing = Erasing(options.erase, options.unattributed_failures, current_user(), time_ns())
    if options.dry_run:
        # What is undone has to be written: an older store is refused before.
        open_store(options.store, read_only=True).close()
    with closing(open_store(options.store)) as store:
        subject = _subject(store, options)
        caches = store.read(lambda connection: caches_of(connection, subject.keys))
        named = {*options.erase, *options.keep}
        # What it says is not known any more once the conversations are deleted.
        left = _told_left(store.read(lambda connection: left_quotes(connection, subject, named)))
        done = _counts(store, subject, erasing, options.dry_run)
        left += _told_left(store.read(lambda connection: left_rows(connection, subject, options.erase)))
        left += _told_left(_caches(caches, options))
        left += _told_left([] if options.dry_run else overwritten(store))
    return _told(options, done, is_found=bool(done or subject.keys), is_left=bool(left))


def _subject(store: "Store", options: Namespace) -> "Subject":
    from turnwise.pipeline.store.maintenance.subject import find_conversation_subject, find_user_subject

    if not options.id.strip():
        raise ConfigError("ID is empty")
    if options.kind == "user" and options.app:
        raise ConfigError("--app: a user is erased in all apps")
    _check_named(store, options)
    if options.kind == "user":
        return store.read(lambda connection: find_user_subject(connection, options.id))
    found = store.read(lambda connection: find_conversation_subject(connection, options.id, options.app))
    apps = [key.app for key in found.keys]
    if len(apps) > 1 and not options.app:
        raise ConfigError(
            f"{len(apps)} apps have a conversation {options.id}: name one or all by --app: {', '.join(apps)}"
        )
    return found


def _check_named(store: "Store", options: Namespace) -> None:
    from turnwise.pipeline.store.maintenance.resources import check_free, known_resources

    named = [*options.erase, *options.keep]
    known = store.read(lambda connection: known_resources(connection, named))
    unknown = [name for name in named if name not in known]
    if unknown:
        raise ConfigError(f"{unknown[0]}: there is no such evaluation, expectation or dataset (full name)")
    store.read(lambda connection: check_free(connection, options.erase))


def _counts(store: "Store", subject: "Subject", erasing: "Erasing", dry_run: bool) -> Counter[str]:
    from turnwise.pipeline.store.maintenance.erasing import counts_of, erase_subject

    return +(counts_of(store, subject, erasing) if dry_run else erase_subject(store, subject, erasing))


def _caches(named: list[str], options: Namespace) -> list[str]:
    """Empties caches; returns what is left in others."""
    from turnwise.pipeline.store.maintenance.caches import empty_cache, other_caches

    for path in options.judge_cache if not options.dry_run else ():
        say(printable(f"{path}: all replies deleted: {empty_cache(path)}"))
    others = other_caches(named, options.judge_cache)
    return [f"{path}: a judge's replies may quote it; --judge_cache deletes all of them" for path in others]


def _told_left(left: list[str]) -> list[str]:
    for line in left:
        complain(printable(f"left: {line}"))
    return left


def _told(options: Namespace, done: Counter[str], is_found: bool, is_left: bool) -> int:
    if not is_found:
        complain(printable(f"nothing of {options.kind} {options.id} was found in the store"))
    what = "would be erased or emptied" if options.dry_run else "erased or emptied"
    for table, number in sorted(done.items()):
        say(f"{table}: {number} {what}")
    say(_NOT_REACHED)
    return 0 if is_found and not is_left else 1


DELETE = StoreCommand(
    "delete",
    "erase a conversation or a user",
    _add_arguments,
    _run,
    "Exit status: 0, nothing of it is known to be left in the store; 1, something is, or nothing was found.",
)
