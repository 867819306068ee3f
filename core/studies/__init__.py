"""Studies of systems from other papers. They import the bench; the bench imports them only through registries."""
