"""The report: a self-contained HTML file with figures, numbers and their provenance."""

from bench_gui.headless.report.report import write_report
from bench_gui.headless.report.sections import ReportContents

__all__ = ["ReportContents", "write_report"]
