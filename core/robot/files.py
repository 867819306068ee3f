"""Copies of a robot's file that work in any place: its meshes and textures lie beside it."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.request import url2pathname

from core.base.errors import ExportError, InputError
from core.export.targets.mujoco.xml import xml_text
from core.robot.chain import read_robot

ASSETS = "assets"
"""Folder of meshes and textures beside a written robot."""
FILES = ("file", "filename", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
"""Attributes that name a file, in MJCF and URDF."""


def read_urdf(file: Path) -> ET.Element:
    """Return the root of a URDF, with its comments; raises ExportError for another file."""
    root = ET.parse(file, ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))).getroot()
    if root.tag != "robot":
        raise ExportError(f"{file}: not a URDF; give the robot's URDF, or export to mujoco")
    return root


def urdf_text(root: ET.Element) -> str:
    """Return a URDF as text."""
    return '<?xml version="1.0"?>\n' + ET.tostring(root, "unicode") + "\n"


def copy_robot(file: Path, folder: Path) -> Path:
    """Copy a robot's file with its meshes and textures into a folder, and return the copy.

    Raises:
        InputError: The file cannot be read or the copy cannot be written.
    """
    copy = folder / file.name
    if copy.resolve() == file.resolve():
        return copy
    try:
        folder.mkdir(parents=True, exist_ok=True)
        root = ET.parse(file).getroot()
        if not any(name in element.attrib for element in root.iter() for name in FILES):
            shutil.copyfile(file, copy)
            return copy
        urdf = root.tag == "robot"
        root = read_urdf(file) if urdf else ET.fromstring(str(read_robot(file).to_xml()))
        bring_assets(root, file.parent, folder)
        copy.write_text(urdf_text(root) if urdf else xml_text(root), encoding="utf-8")
    except (OSError, ET.ParseError) as error:
        raise InputError(f"{file}: cannot be copied to {copy} ({error})") from None
    return copy


def bring_assets(root: ET.Element, origin: Path, folder: Path) -> tuple[Path, ...]:
    """Copy the files that a robot names into `folder`/ASSETS, name the copies in it, and return them.

    The folder of a ROS package is sought beside and above the robot. Files that are not there keep their names.

    Args:
        root: URDF or MJCF, changed in place.
        origin: Folder to which its names are relative.
        folder: Folder in which it will lie.
    """
    urdf = root.tag == "robot"
    compiler = root.find("mujoco/compiler" if urdf else "compiler")
    folders = {} if compiler is None else {name: compiler.attrib.pop(name, "") for name in ("meshdir", "texturedir")}
    if urdf and compiler is not None:
        compiler.set("strippath", "false")
    copied: dict[str, Path] = {}
    for element in (each for each in root.iter() if each.tag != "include"):
        own = folders.get("texturedir" if element.tag == "texture" else "meshdir", "")
        for attribute in (name for name in FILES if name in element.attrib):
            source = _asset(element.attrib[attribute], origin.resolve(), own)
            if source is None:
                continue
            name = source.name
            while copied.setdefault(name, source.resolve()) != source.resolve():
                name = f"_{name}"
            element.set(attribute, f"{ASSETS}/{name}")
    for name, source in copied.items():
        (folder / ASSETS).mkdir(parents=True, exist_ok=True)
        if (folder / ASSETS / name).resolve() != source:
            shutil.copyfile(source, folder / ASSETS / name)
    return tuple(folder / ASSETS / name for name in copied)


def _asset(name: str, origin: Path, folder: str) -> Path | None:
    """Return the file that a robot in `origin` names, or None; folder: that of its meshes or textures."""
    scheme, _, path = name.rpartition("://")
    inside = Path(url2pathname(path) if scheme else path)
    places = [origin / folder / inside, origin / folder / inside.name, origin / inside]
    if scheme in ("package", "model"):
        parts = inside, Path(*inside.parts[1:])
        places += [above / part for above in (origin, *origin.parents) for part in parts]
    return next((place for place in places if place.is_file()), None)
