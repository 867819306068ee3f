"""Non-modal dialogs about runs and files."""
