"""Texts of any language: ROUGE, words, sentences, numbers, dates, offsets."""
