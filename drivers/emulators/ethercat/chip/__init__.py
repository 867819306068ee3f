"""A slave's controller: the chip `esc` with `sync_manager`, `fmmu`, `clock` and `sii`, and the machine of `states`."""
