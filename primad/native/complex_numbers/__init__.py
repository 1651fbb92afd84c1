"""Programs of complex numbers, written in real ones: what native code computes with."""
