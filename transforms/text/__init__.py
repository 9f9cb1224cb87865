"""Text processing for any language: ROUGE, words, sentences, numbers, dates, offsets."""
