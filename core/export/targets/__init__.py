"""One module or package for each target; `core.export` lists them."""
