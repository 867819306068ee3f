"""`bench export` of a model: names, files that are there, what is refused."""

from bench_gui.cli import main


def export(folder, *words, to="c", model="mx106:m1"):
    return main(["export", model, "--to", to, "-o", str(folder), *words])


def test_a_file_that_differs_is_replaced_only_by_force(tmp_path, capsys):
    mine = tmp_path / "elbow.servo.h"
    mine.write_text("/* mine */\n")
    assert export(tmp_path, "--name", "elbow") == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{mine} exists and differs" in said
    assert "--force" in said
    assert mine.read_text() == "/* mine */\n"
    assert export(tmp_path, "--name", "elbow", "--force") == 0
    assert "static const sb_servo elbow_servo" in mine.read_text()
    assert export(tmp_path, "--name", "elbow") == 0
