"""Parent of the modules of plugin files: to unpickle one of their objects imports it, and loads them all."""

from turnwise.schemas.registry import import_plugins

import_plugins()
