"""What is decided before text is written: layout, storage, fusion, blocks, and outlined parts."""
