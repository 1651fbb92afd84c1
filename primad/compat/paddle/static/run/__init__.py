"""Running static programs: scopes, lowering and storage."""
