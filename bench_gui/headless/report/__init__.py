"""The report: a self-contained HTML file with figures, numbers and their provenance."""

from bench_gui.headless.report.examined import ReportContents
from bench_gui.headless.report.report import write_report

__all__ = ["ReportContents", "write_report"]
