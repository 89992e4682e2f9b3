"""What every credential may do: read how methods work, see who it is, its inbox, events, and resume."""
