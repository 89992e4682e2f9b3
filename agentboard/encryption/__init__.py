"""Text that is encrypted at rest."""
