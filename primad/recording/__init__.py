"""Recording functions: traced arrays, pytrees of arguments, and what is refused while a function is recorded."""
