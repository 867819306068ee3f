"""Check this machine: versions, processors, compiled code, display, priority; each finding with its remedy."""

from __future__ import annotations

import argparse

from bench_gui.cli.terminal import add_json, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench doctor`."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 1 if something must be mended before the program can work."""
    from bench_gui.headless.doctor import examine

    findings = examine()
    if arguments.json:
        print_json([dict(finding.__dict__) for finding in findings])
    else:
        for finding in findings:
            print(f"{finding.status:5} {finding.subject}: {finding.text}")
            if finding.remedy:
                print(f"      → {finding.remedy}")
    return 1 if any(finding.status == "error" for finding in findings) else 0
