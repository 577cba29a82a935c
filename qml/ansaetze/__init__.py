"""Ansaetze and encodings: functions that build circuits. ``table`` lists them all."""
