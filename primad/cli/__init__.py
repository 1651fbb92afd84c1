"""The `primad` command and the gallery of examples."""
