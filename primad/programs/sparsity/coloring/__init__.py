"""Colours of the columns and rows of matrices of derivatives: directions that are taken together."""
