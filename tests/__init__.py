"""Tests, a file per method; doors/ holds what every door shares."""
