"""Parent of the modules of plugin files: to unpickle one of their objects imports it, and loads them all."""

import os

from turnwise.schemas.registry import PLUGINS, import_plugin

for _place in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
    import_plugin(_place)
