"""Scores conversations between people and agents, turn by turn, on Apache Beam."""
