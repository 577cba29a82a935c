"""Benchmarks: against other libraries, against stored limits, and of the cost of a call."""
