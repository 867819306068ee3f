"""Links of an arm: what their motion depends on, and the files they come in."""

import math

import pytest

from core.base.errors import InputError
from core.studies.arm.links import ArmLinks, read_arm_parameters

C0 = """I1: 0.02671076499939512
I2: 0.053878129629650884
Ir: 0.0001
b1: 0.01
b2: 0.0
cf1: 0.0
cf2: 0.2
g: 9.81
gr: 6.0
l1: 0.2
l2: 0.3
m1: 0.6416937799349799
m2: 0.563935954099688
r1: 0.2
r2: 0.3212669909674605
tl1: 0.0
tl2: 6.0
"""
"""Numbers of design C.0 of DFKI's double pendulum, with a rotor and friction added."""


def write(folder, text):
    path = folder / "arm.yml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_gives_links_rotors_and_friction(tmp_path):
    parameters = read_arm_parameters(write(tmp_path, C0))
    links = parameters.links
    assert links.masses == (0.6416937799349799, 0.563935954099688)
    assert links.armatures == pytest.approx((36 * 1e-4, 36 * 1e-4))
    assert parameters.viscous == (0.01, 0.0)
    # c_f·arctan(100·v) tends to c_f·π/2.
    assert parameters.coulomb == pytest.approx((0.0, 0.1 * math.pi))
    assert parameters.torque_limits == (0.0, 6.0)


def test_base_numbers_are_those_of_the_mass_matrix_and_gravity(tmp_path):
    links = read_arm_parameters(write(tmp_path, C0)).links
    (m1, m2), l1, (r1, r2) = links.masses, links.lengths[0], links.centres
    base = links.base
    assert base.inertia_1 == pytest.approx(links.inertias[0] + m2 * l1**2)
    assert base.inertia_2 == links.inertias[1]
    assert base.coupling == pytest.approx(m2 * l1 * r2)
    assert base.gravity_1 == pytest.approx(9.81 * (m1 * r1 + m2 * l1))
    assert base.gravity_2 == pytest.approx(9.81 * m2 * r2)


def test_identified_links_that_no_body_has_become_bodies_that_move_alike(tmp_path):
    links = read_arm_parameters(write(tmp_path, C0)).links
    assert links.inertias_about_centres[1] < 0  # I₂ < m₂·r₂²
    bodies = links.as_bodies()
    assert min(bodies.inertias_about_centres) > 0
    assert sum(bodies.masses) == pytest.approx(sum(links.masses))
    assert vars(bodies.base) == pytest.approx(vars(links.base), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("m1: 0.64", "m1: -0.64"), "masses"),
        (("r2: 0.32", "r2: 0.92"), "too small"),
        (("l1: 0.2", "l1: long"), "line 10"),
        (("l1: 0.2", "l1: .nan"), "line 10"),
        (("l1: 0.2", "l1: inf"), "not finite"),
        (("l1: 0.2", "L9: 0.2"), "line 10"),
        (("l1: 0.2\n", ""), "l1 is missing"),
        (("b1: 0.01", "b1: -0.01"), "friction"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read_arm_parameters(write(tmp_path, C0.replace(*change)))


def test_files_that_are_no_text_or_not_there_are_told(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_arm_parameters(tmp_path / "none.yml")
    path = tmp_path / "binary.yml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_arm_parameters(path)


def test_links_no_body_can_be_made_of_are_refused():
    # Heavy at the tip, hardly any inertia about the joint, and nothing on link 1 to take from.
    links = ArmLinks(masses=(0.01, 1.0), lengths=(0.2, 0.2), centres=(0.0, 0.3), inertias=(0.5, 0.05))
    with pytest.raises(InputError, match="physically possible links"):
        links.as_bodies()


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", ["masses", "lengths", "inertias", "centres", "armatures", "angle_offsets"])
def test_numbers_of_either_link_that_it_cannot_have_are_refused(name, place):
    """A centre on the axis, a motor without inertia and an offset of any sign are possible."""
    numbers = {"masses": (0.6, 0.5), "lengths": (0.3, 0.2), "centres": (0.2, 0.1), "inertias": (0.05, 0.02)}

    def links(value):
        pair = list(numbers.get(name, (0.0, 0.0)))
        pair[place] = value
        return ArmLinks(**{**numbers, name: tuple(pair)})

    positive, signed = name in ("masses", "lengths", "inertias"), name == "angle_offsets"
    wrong = [math.nan, math.inf, 1.1e12, *([0.0] if positive else []), *([] if signed else [-0.01])]
    for value in wrong:
        with pytest.raises(InputError, match=f"{name} = "):
            links(value)
    possible = 0.6 if positive else -0.01 if signed else 0.0
    assert getattr(links(possible), name)[place] == possible
