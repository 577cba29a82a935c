"""Programs run by executors at locations, every transfer scheduled before anything runs."""
