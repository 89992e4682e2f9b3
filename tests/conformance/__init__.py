"""The official conformance suites against a real server: `make conformance`."""
