"""Running programs: the interpreter (the reference), plans and their cache."""
