"""The functions that the built-in proposer's programs are made of.

Each module is real code with its own tests; a program gets a copy of the functions it uses, so that it stands alone.
They may use the modules that programs may import, and one another's functions within a module.
"""
