"""Studies of other papers, one folder each: the tabs of Explore, which need no recordings, and the arm of Compare."""
