"""A Beam runner for streams in this process: steps are prepared once and call each other."""
