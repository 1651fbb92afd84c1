"""The suite: a folder for each package of primad, and what the tests share."""
