"""The DoFns and PTransforms of a batch."""
