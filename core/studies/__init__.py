"""The systems of the other papers. They import the bench; the bench imports them through registries only."""
