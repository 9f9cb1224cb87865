"""Joins ES modules into one script, so that a page needs no other file and no build step.

Each module becomes a function of its own that returns its exports, called once, after those that it imports
from. Only `import { a, b } from "./x.js";` and `export` before a declaration are supported.
"""

import re
from collections.abc import Callable

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_UNSUPPORTED = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def join_modules(read: Callable[[str], str], start: str) -> str:
    """Returns the script of a module and of all that it imports.

    Args:
        read: Returns the text of a module, given its name.
        start: Name of the module to begin with.

    Raises:
        ValueError: Modules import each other, or one has an import or export of another form.
    """
    done: dict[str, str] = {}
    _add(read, start, done, ())
    return "const modules = {};\n" + "".join(done.values())


def _add(read: Callable[[str], str], name: str, done: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"modules import each other: {', '.join((*above, name))}")
    if name in done:
        return
    text = read(name)
    for match in _IMPORT.finditer(text):
        _add(read, match[2], done, (*above, name))
    exports = ", ".join(_EXPORT.findall(text))
    body = _IMPORT.sub(lambda match: f'const {{{match[1]}}} = modules["{match[2]}"];', text)
    body = _EXPORT.sub("", body)
    rest = _UNSUPPORTED.search(body)
    if rest:
        raise ValueError(f"{name}: {rest[0]}: is not supported")
    done[name] = f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n'
