"""Systems of the other papers, a folder each: the pages that need no recordings, and models on an arm."""
