"""Functions of `import turnwise`: a run without a pipeline and without files."""
