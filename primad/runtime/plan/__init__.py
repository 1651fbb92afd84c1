"""Plans: steps over buffers, native regions, fusion, donation and limits of memory."""
