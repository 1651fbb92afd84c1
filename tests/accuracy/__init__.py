"""How right the special functions are: grids, references of high precision, errors, and the page that says so."""
