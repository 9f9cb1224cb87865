"""Calibration by human labels: reads labels and runs, and shows and writes what comes of it."""
