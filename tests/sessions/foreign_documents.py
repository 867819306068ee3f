"""Documents as they may come from anywhere."""

from hypothesis import strategies as st

any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def wrapped(name, data, version=1):
    """A document's file as plain data."""
    return {"format": f"servobench-{name.replace('_', '-')}", "format_version": version, "data": data}
