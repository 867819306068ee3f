"""One question at closing, and only when something is under way; it names what that is."""

from __future__ import annotations

from PySide6.QtWidgets import QMessageBox, QWidget


def may_close(parent: QWidget, busy: list[str]) -> bool:
    """Ask whether what is under way may be ended; at once true when nothing is.

    busy: one line each, in plain words. The servo's heartbeat goes on while the question stands.
    """
    if not busy:
        return True
    box = QMessageBox(parent)
    box.setWindowTitle("Close ServoBench?")
    box.setIcon(QMessageBox.Icon.NoIcon)
    box.setText("Still under way:")
    box.setInformativeText("\n".join(f"•  {line}" for line in busy))
    stop = box.addButton("End them and close", QMessageBox.ButtonRole.AcceptRole)
    stop.setToolTip("Release the servo, keep what was recorded and the best models found, and close")
    stay = box.addButton("Keep working", QMessageBox.ButtonRole.RejectRole)
    stay.setToolTip("Leave everything as it is")
    for made in (stop, stay):
        made.setAccessibleName(made.text())
    box.setDefaultButton(stay)
    box.setEscapeButton(stay)
    box.exec()
    ended = box.clickedButton() is stop
    box.deleteLater()
    return ended
