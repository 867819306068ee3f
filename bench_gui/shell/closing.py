"""The question at closing, asked only while work is in progress; it names the work."""

from __future__ import annotations

from PySide6.QtWidgets import QMessageBox, QWidget


def may_close(parent: QWidget, busy: list[str]) -> bool:
    """Return True if nothing is in progress, or if the user agrees to end it.

    Args:
        parent: The window.
        busy: Work in progress, one line each. The servo's heartbeat continues while the dialog is open.
    """
    if not busy:
        return True
    box = QMessageBox(parent)
    box.setWindowTitle("Close ServoBench?")
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setText("Still in progress:")
    box.setInformativeText("\n".join(f"•  {line}" for line in busy))
    stop = box.addButton("Stop and close", QMessageBox.ButtonRole.AcceptRole)
    stop.setToolTip("Release the servo, keep recorded samples and the best models found, and close")
    stay = box.addButton("Keep working", QMessageBox.ButtonRole.RejectRole)
    stay.setToolTip("Continue without closing")
    for made in (stop, stay):
        made.setAccessibleName(made.text())
    box.setDefaultButton(stay)
    box.setEscapeButton(stay)
    box.exec()
    ended = box.clickedButton() is stop
    box.deleteLater()
    return ended
