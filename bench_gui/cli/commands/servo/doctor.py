"""Check this installation: versions, processors, compiled code, display and priority; problems come with a fix."""

from __future__ import annotations

import argparse

from bench_gui.cli.terminal import add_json, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench doctor`."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; return 1 if one of them keeps the program from working."""
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
