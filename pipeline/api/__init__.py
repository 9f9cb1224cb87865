"""What `import turnwise` offers: the functions of a run, without a pipeline and without files."""
