"""The checks: of rules, axes, laws, consumers and functions of users."""
