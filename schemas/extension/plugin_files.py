"""Parent of the modules of plugin files: unpickling one of their objects imports it, and so loads them."""

import os

from turnwise.schemas.extension.plugins import import_plugin
from turnwise.schemas.registry import PLUGINS

for _place in filter(None, os.environ.get(PLUGINS, "").split(os.pathsep)):
    import_plugin(_place)
