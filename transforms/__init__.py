"""The work: parse, match, score, results, metrics. Pure functions first; PTransforms only wire them."""
