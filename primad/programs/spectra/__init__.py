"""Functions of Hermitian matrices, and traces of them, as ops; and where a program of eigenvectors is one."""
