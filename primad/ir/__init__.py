"""The intermediate representation: hash-consed nodes in arenas, and programs made of them."""
