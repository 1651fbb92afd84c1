"""Programs on arrays that caches do not hold, a panel of rows at a time."""
