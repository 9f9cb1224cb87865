"""Loads the plugin files of a run when it is imported, which Beam's worker processes do first."""

import os

from turnwise.pipeline.settings.plugins import FILES, load_plugins

load_plugins([path for path in os.environ.get(FILES, "").split(os.pathsep) if path])
