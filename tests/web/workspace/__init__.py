"""The workspace: every method as a form, and the pages of what an agent knows."""
