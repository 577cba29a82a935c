"""Engines: what runs a plan. Each is imported when it is first asked for."""
