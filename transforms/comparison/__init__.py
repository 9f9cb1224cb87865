"""Compares two versions: pairs of cases, differences, words, flips. From scores alone, without Beam."""
