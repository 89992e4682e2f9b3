"""AgentBoard: the project, what a method is, the one way in, the doors for scripts and people."""
