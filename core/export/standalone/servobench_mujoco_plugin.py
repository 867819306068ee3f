# SPDX-License-Identifier: Apache-2.0
"""Build MuJoCo's plugin `servobench.servo` with a C compiler, once per engine version, and load it.

    from servobench_mujoco_plugin import load

    load()
    model = mujoco.MjModel.from_xml_path("NAME.plugin.xml")

Needs mujoco and a C compiler (`cc`, or the one named by the environment variable CC). Other programs, such as
`simulate`, load the library whose path `python servobench_mujoco_plugin.py` prints.
"""

# MuJoCo ships no types for its native part.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import mujoco

HERE = Path(__file__).resolve().parent
SOURCES = (HERE / "servobench_mujoco_plugin.c", HERE / "servobench_friction.h")
NAME = "servobench.servo"
_loaded: list[Path] = []


def build(folder: str | Path = HERE) -> Path:
    """Compile the library into a folder unless it is up to date; return its path, raise ValueError on failure."""
    package = Path(mujoco.__file__).resolve().parent
    library = Path(folder) / f"servobench_mujoco_plugin-{mujoco.__version__}.so"
    if library.exists() and library.stat().st_mtime >= max(source.stat().st_mtime for source in SOURCES):
        return library
    engines = [*package.glob("libmujoco.so*"), *package.glob("libmujoco*.dylib")]
    if not engines:
        raise ValueError(f"there is no libmujoco in {package}")
    unfinished = library.with_suffix(f".{os.getpid()}")
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c99", "-O2", "-shared", "-fPIC"]
    command += [f"-I{package / 'include'}", f"-I{HERE}", "-o", str(unfinished), str(SOURCES[0]), str(engines[0]), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as error:
        raise ValueError(f"the plugin needs a C compiler: {error}") from None
    except subprocess.CalledProcessError as error:
        raise ValueError(f"the plugin cannot be compiled: {error.stderr.strip()}") from None
    os.replace(unfinished, library)
    return library


def load(folder: str | Path = HERE) -> None:
    """Load the plugin into this process once; `folder` caches its library. Raises ValueError if it cannot."""
    if not _loaded:
        library = build(folder)
        mujoco.mj_loadPluginLibrary(str(library))
        _loaded.append(library)


if __name__ == "__main__":
    print(build())
