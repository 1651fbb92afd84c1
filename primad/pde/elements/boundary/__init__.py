"""What conditions say on the boundary of elements, and between materials."""
