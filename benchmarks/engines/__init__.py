"""Runs the batch job on other engines of Beam, and compares every table with DirectRunner's."""
