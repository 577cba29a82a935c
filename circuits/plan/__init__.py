"""From a circuit's instructions to what an engine executes: pure functions, one pass a file."""
