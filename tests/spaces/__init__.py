"""Tests of spaces."""
