"""Runs the command `turnwise` without the installed packages that requirements.lock does not hold."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from importlib.metadata import Distribution, distributions
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"


def modules(package: Distribution) -> Iterator[str]:
    """Yields the full names of the modules of an installed package."""
    for file in package.files or ():
        if file.suffix in (".py", ".so") and ".." not in file.parts:
            name = file.name.partition(".")[0]
            yield ".".join(file.parts[:-1] if name == "__init__" else (*file.parts[:-1], name))


def absent_modules() -> set[str]:
    """Returns the modules of all installed packages that the base has not."""
    base = {"turnwise", "pip", *re.findall(r"^([\w.-]+)==", LOCK.read_text(), re.MULTILINE)}
    names = {re.sub(r"[-_.]+", "-", name).lower() for name in base}
    there: set[str] = set()
    others: set[str] = set()
    for package in distributions():
        is_base = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower() in names
        (there if is_base else others).update(modules(package))
    return others - there


class Absent(MetaPathFinder):
    """Finds no module of some names."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def run_each(run_command: Callable[[], None]) -> None:
    """Runs the commands of a JSON list, each in a process and an empty directory of its own.

    Prints of each its status, output, errors and the number of files that it left.
    """
    import turnwise.pipeline.batch.run
    import turnwise.pipeline.cli.run_options  # noqa: F401, every process needs it

    ended = []
    for number, arguments in enumerate(json.load(sys.stdin)):
        place = Path(f"{number}/files").absolute()
        place.mkdir(parents=True)
        texts = [place.with_name("out"), place.with_name("err")]
        child = os.fork()
        if not child:
            os.chdir(place)
            for path, stream in zip(texts, (1, 2), strict=True):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
            sys.argv[1:] = arguments
            return run_command()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        files = sum(path.is_file() for path in place.rglob("*"))
        ended.append([status, *(path.read_text() for path in texts), files])
    print(json.dumps(ended))


def main() -> None:
    sys.path[0] = str(LOCK.parent)
    sys.meta_path.insert(0, Absent(absent_modules()))
    from turnwise.pipeline.cli.main import run_command

    if sys.argv[1:] == ["--each"]:
        run_each(run_command)
    else:
        run_command()


if __name__ == "__main__":
    main()
