"""Problems: conditions, statements, terms, weights and settings."""
