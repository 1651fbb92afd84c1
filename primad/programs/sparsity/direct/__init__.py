"""Entries of a matrix of derivatives that are computed as they are, without colours.

A stencil takes copies of its argument, moved, and computes with them element by element; a sum over cells of a mesh, or
over observations, takes elements at indices, and computes with those of each cell apart. What comes out is moved, and
added, to the result. So the Jacobian is T D L: L says from which elements the copies are taken, T where the results go,
both constant, and D is made of blocks, one for each point, of each pair of a copy and a result. Along the axes on which
points stay apart one seed serves all of them, so the blocks are products of the part in between with as many seeds as a
copy, or a result, has elements at a point. Each entry of the matrix is an element of a block, or the sum of some.
"""
