"""One adapter for each library that this project is compared with."""
