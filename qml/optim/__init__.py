"""Optimizers: a formula a file, everything else in ``base``."""
