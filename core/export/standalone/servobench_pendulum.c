/* SPDX-License-Identifier: Apache-2.0 */
/* A pendulum on the servo, simulated by Algorithm 1 of the theory, with and without feed-forward compensation.
 *
 * Prints time, wanted position, position without and with compensation (s, rad) as comma separated values. Build it
 * with -DSERVOBENCH_LIBRARY and there is no main: simulate_pendulum is then for callers of their own.
 *
 * SERVO, LOAD_INERTIA [kg.m2], GRAVITY_TORQUE [N.m], ANGLE_OFFSET [rad], TIMESTEP [s] and STEPS are defined above.
 */
#include <stdio.h>

static sb_real gravity(sb_real position) {
  return -SB_C(GRAVITY_TORQUE) * SB_MATH(sin)(position + SB_C(ANGLE_OFFSET));
}

/* A command `delay` [s] before step k; between two commands it is interpolated, as the identified model does. */
static sb_real delayed(const sb_real *commands, long k, long count, sb_real delay, sb_real step) {
  const sb_real steps = delay / step, whole = SB_MATH(ceil)(steps), share = SB_C(1) - (whole - steps);
  const long older = k - (long)whole;
  const sb_real before = commands[older > 0 ? older : 0];
  const long newer = older + 1 > 0 ? (older + 1 < count ? older + 1 : count - 1) : 0;
  return before + (SB_C(1) - share) * (commands[newer] - before);
}

/* Positions [rad] before each of `count` steps [s], from a position and velocity, under goals [rad] and torque switches
 * (1 on, 0 released). */
void simulate_pendulum(const sb_real *goals, const sb_real *drives, long count, sb_real step, sb_real position,
                       sb_real velocity, sb_real *positions) {
  const sb_real inertia = SB_C(LOAD_INERTIA) + SERVO.armature;
  sb_state state = sb_at_rest(position);
  long k;
  for (k = 0; k < count; k++) {
    const sb_real goal = delayed(goals, k, count, SERVO.delay, step);
    const sb_real drive = delayed(drives, k, count, SERVO.release_delay, step);
    const sb_real motor = sb_motor_torque(&SERVO, &state, goal, position, velocity, drive, SERVO.supply_voltage, step);
    const sb_real external = gravity(position);
    const sb_real friction = sb_friction_torque(&SERVO, &state, motor, external, velocity, inertia, step);
    const sb_real acceleration = (motor + external + friction) / inertia;
    positions[k] = position;
    position += step * (velocity + SB_C(0.5) * acceleration * step);
    velocity += acceleration * step;
  }
}

#ifndef SERVOBENCH_LIBRARY

int main(void) {
  static sb_real goals[STEPS], compensated[STEPS], drives[STEPS], plain[STEPS], better[STEPS];
  const sb_real amplitude = SB_C(0.5), rate = SB_C(2), step = SB_C(TIMESTEP);
  long k;
  for (k = 0; k < STEPS; k++) {
    /* The wanted position when the command arrives, not now; the output lags behind and is needed later still. */
    const sb_real phase = rate * step * SB_C(k), arrival = phase + rate * (SERVO.delay + SB_C(0.5) * step);
    const sb_real later = arrival + rate * SERVO.pwm_lag;
    const sb_real position = amplitude * SB_MATH(sin)(later), velocity = amplitude * rate * SB_MATH(cos)(later);
    const sb_real acceleration = -rate * rate * position;
    const sb_command command = sb_feedforward(&SERVO, velocity, acceleration, gravity(position), SB_C(LOAD_INERTIA),
                                              SB_PREVIEW, SB_SMOOTHING);
    drives[k] = SB_C(1);
    goals[k] = amplitude * SB_MATH(sin)(phase);
    compensated[k] = amplitude * SB_MATH(sin)(arrival) + command.goal_offset;
  }
  simulate_pendulum(goals, drives, STEPS, step, SB_C(0), amplitude * rate, plain);
  simulate_pendulum(compensated, drives, STEPS, step, SB_C(0), amplitude * rate, better);
  printf("time,wanted,uncompensated,compensated\n");
  for (k = 0; k < STEPS; k++) {
    printf("%g,%g,%g,%g\n", (double)k * TIMESTEP, (double)goals[k], (double)plain[k], (double)better[k]);
  }
  return 0;
}

#endif
