"""Tests of the encrypted field, its keys and their rotation."""
