"""Pictures of circuits and of states."""
