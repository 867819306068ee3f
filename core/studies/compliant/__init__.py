"""Compliant actuators of Mengacci et al.: springs, motors, arms, their experiments and iterative learning control.

The paper is R. Mengacci et al., "An Open-Source ROS-Gazebo Toolbox for Simulating Robots With Compliant Actuators"
(2021). Section and equation numbers in this package refer to it, and "the toolbox" is its toolbox.
"""
