/* SPDX-License-Identifier: Apache-2.0 */
/* A pendulum on the servo, with and without feed-forward compensation.
 *
 * Prints time, wanted position, and position without and with compensation (s, rad) as comma-separated values. With
 * -DSERVOBENCH_LIBRARY there is no main, and simulate_pendulum is available to other callers.
 *
 * SERVO, LOAD_INERTIA [kg.m2], GRAVITY_TORQUE [N.m], ANGLE_OFFSET [rad], TIMESTEP [s] and STEPS are defined above.
 */
#include <stdio.h>

static sb_real gravity(sb_real position) {
  return -SB_C(GRAVITY_TORQUE) * SB_MATH(sin)(position + SB_C(ANGLE_OFFSET));
}

/* The commands that arrive in step k, delayed by `delay` [s]: of two steps unless the delay is a whole number. */
static sb_goal delayed(const sb_real *commands, long k, long count, sb_real delay, sb_real step) {
  const sb_real steps = delay / step, whole = SB_MATH(ceil)(steps);
  const long older = k - (long)whole, newer = older + 1 < count ? older + 1 : count - 1;
  const sb_goal goal = {commands[older > 0 ? older : 0], commands[newer > 0 ? newer : 0], whole - steps};
  return goal;
}

/* Compute positions [rad] before each of `count` time steps [s], from a position and velocity, under goals [rad, or the unit
 * of another command] and torque switches (1 on, 0 released), each held for its step. */
void simulate_pendulum(const sb_real *goals, const sb_real *drives, long count, sb_real step, sb_real position,
                       sb_real velocity, sb_real *positions) {
  sb_state state = sb_at_rest(position);
  long k;
  for (k = 0; k < count; k++) {
    const sb_goal goal = delayed(goals, k, count, SERVO.delay, step);
    const sb_goal drive = delayed(drives, k, count, SERVO.release_delay, step);
    const sb_real on = drive.first + drive.share * (drive.next - drive.first);
    sb_real motor, external, inertia, friction;
    positions[k] = position;
    position += SB_C(0.5) * step * velocity;
    motor = sb_motor_torque(&SERVO, &state, goal, position, velocity, on, SERVO.supply_voltage, step);
    external = gravity(position);
    inertia = sb_inertia(&SERVO, &state, SB_C(LOAD_INERTIA) + SERVO.armature, step);
    friction = sb_friction_torque(&SERVO, &state, motor, external, velocity, inertia, step);
    velocity += step * (motor + external + friction) / inertia;
    position += SB_C(0.5) * step * velocity;
  }
}

#ifndef SERVOBENCH_LIBRARY

int main(void) {
  static sb_real wanted[STEPS], goals[STEPS], compensated[STEPS], drives[STEPS], plain[STEPS], better[STEPS];
  const sb_real amplitude = SB_C(0.5), rate = SB_C(2), step = SB_C(TIMESTEP);
  long k;
  for (k = 0; k < STEPS; k++) {
    /* Use the wanted position when the command arrives, not now; the output's lag needs a further advance. */
    const sb_real phase = rate * step * SB_C(k), arrival = phase + rate * (SERVO.delay + SB_C(0.5) * step);
    const sb_real later = arrival + rate * SERVO.pwm_lag;
    const sb_real position = amplitude * SB_MATH(sin)(later), velocity = amplitude * rate * SB_MATH(cos)(later);
    const sb_real acceleration = -rate * rate * position;
    const sb_command command = sb_feedforward(&SERVO, velocity, acceleration, gravity(position), SB_C(LOAD_INERTIA),
                                              SB_PREVIEW, SB_SMOOTHING);
    drives[k] = SB_C(1);
    wanted[k] = amplitude * SB_MATH(sin)(phase);
    if (SERVO.angle_ignored > SB_C(0)) {
      /* A speed, or the command itself; without compensation it lacks the part that overcomes friction. */
      compensated[k] = SERVO.speed_feedback * amplitude * rate * SB_MATH(cos)(arrival) + command.goal_offset;
      goals[k] = compensated[k] - command.friction_offset;
    } else {
      goals[k] = amplitude * SB_MATH(sin)(phase);
      compensated[k] = amplitude * SB_MATH(sin)(arrival) + command.goal_offset;
    }
  }
  simulate_pendulum(goals, drives, STEPS, step, SB_C(0), amplitude * rate, plain);
  simulate_pendulum(compensated, drives, STEPS, step, SB_C(0), amplitude * rate, better);
  printf("time,wanted,uncompensated,compensated\n");
  for (k = 0; k < STEPS; k++) {
    printf("%g,%g,%g,%g\n", (double)k * TIMESTEP, (double)wanted[k], (double)plain[k], (double)better[k]);
  }
  return 0;
}

#endif
