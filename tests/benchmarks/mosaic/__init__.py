"""Mosaic's heat and structural problems, solved with primad by the Tesseract interface."""
