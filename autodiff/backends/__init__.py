"""One file a backend; each is imported only when a device of its kind is asked for."""
