"""Pictures, summaries and reports of solutions."""
