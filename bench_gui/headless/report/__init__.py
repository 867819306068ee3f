"""The report: one self-contained HTML file a person can send, with pictures, numbers and where they came from."""

from bench_gui.headless.report.examined import ReportContents
from bench_gui.headless.report.report import write_report

__all__ = ["ReportContents", "write_report"]
