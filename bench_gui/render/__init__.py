"""Renderers of documents: window, terminal and paper."""
