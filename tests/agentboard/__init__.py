"""Tests of the project package: settings, the data folder, the server, what it logs."""
