"""Networks for unknown functions, and conditions that hold by construction."""
