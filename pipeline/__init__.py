"""The application: options, sources, sinks, build, run, report."""
