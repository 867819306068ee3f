/* SPDX-License-Identifier: Apache-2.0 */
/* servobench_friction.h: an identified servo in C, for firmware and simulators of your own.
 *
 * C99 and C++; header only; no allocation, no globals, only <math.h>. Numbers are float, or double if SERVOBENCH_DOUBLE
 * is defined before including it, in every file of a program.
 *
 *   sb_friction_budget    friction budget of the models M1-M6 (M1-M5 have zeros in the formula of M6)
 *   sb_friction_torque    mean friction of one time step: within the budget and reversing with the shaft, or that of an
 *                         elastoplastic contact, which is a spring and a damper before it slips
 *   sb_motor_torque       one step of the servo's control law, command path and motor
 *   sb_inertia            inertia to divide the torques by: a step's error then falls with the square of the step
 *   sb_feedforward        motor torque, and goal, that make the servo follow a motion
 *
 * SI units and radians: rad, rad/s, rad/s2, N.m, kg.m2, V, A, s. Torques are at the output shaft; positive torques turn
 * it towards positive angles. Functions have no memory: the state between steps is in sb_state, which belongs to the
 * caller. The caller also implements the delays (`delay`, `release_delay`): pass sb_motor_torque the goal of that long
 * ago. To compensate a delay, use the wanted position that far ahead, and the offset a further `pwm_lag` ahead.
 *
 * Theory: M. Duclusaud, G. Passault, V. Padois, O. Ly, "Extended Friction Models for the Physics Simulation of Servo
 * Actuators"; equation numbers below are from it. Elastoplastic contacts: R. Cisneros, M. Benallegue, R. Kikuuwe,
 * M. Morisawa, F. Kanehiro, "Reliable chattering-free simulation of friction torque in joints presenting high
 * stiction".
 */
#ifndef SERVOBENCH_FRICTION_H
#define SERVOBENCH_FRICTION_H

#include <math.h>

#ifdef SERVOBENCH_DOUBLE
typedef double sb_real;
#define SB_MATH(name) name
#define SB_HALVINGS 50
#define SB_ENDS 1e-6
#else
typedef float sb_real;
#define SB_MATH(name) name##f
#define SB_HALVINGS 24
#define SB_ENDS 1e-3
#endif

/* A constant in the precision of the numbers. */
#define SB_C(x) ((sb_real)(x))

/* Preview of the direction of motion in sb_feedforward [s], and the speed over which friction reverses [rad/s]. */
#define SB_PREVIEW SB_C(0.003)
#define SB_SMOOTHING SB_C(0.01)

/* Error over which the output offset grows from 0 to its value [rad]: a step of a 12-bit encoder. */
#define SB_OFFSET_WIDTH SB_C(0.0015339807878856412)

typedef enum { SB_VOLTAGE, SB_CURRENT, SB_COAST } sb_law;

/* Behaviour of friction before it slips: it stops the shaft rigidly, or it yields. Stribeck friction falls with
 * exp(-(v/v_s)^alpha) or, rational, with 1/(1 + v/v_s). */
typedef enum { SB_RIGID, SB_ELASTOPLASTIC, SB_ELASTOPLASTIC_RATIONAL } sb_contact;

/* The servo. Gains are per rad of position error, in duty cycle (voltage and coast law) or A (current law). With
 * angle_ignored, goals are another command, and gains are per unit of it: N.m, A, V, duty cycle or, with speed_feedback,
 * rad/s. */
typedef struct {
  sb_law law;
  sb_contact contact;
  sb_real supply_voltage;           /* nominal [V] */
  sb_real torque_constant;          /* k_t, motor and gearbox [N.m/A] */
  sb_real resistance;               /* R [Ohm] */
  sb_real armature;                 /* J_m, apparent inertia of the rotor [kg.m2] */
  sb_real friction_base;            /* K_c [N.m] */
  sb_real friction_viscous;         /* K_v [N.m.s/rad] */
  sb_real load_motor;               /* K_m */
  sb_real load_external;            /* K_e */
  sb_real friction_stribeck;        /* K_c^s [N.m] */
  sb_real load_motor_stribeck;      /* K_m^s */
  sb_real load_external_stribeck;   /* K_e^s */
  sb_real load_motor_quad;          /* K_m^q [1/(N.m)] */
  sb_real load_external_quad;       /* K_e^q [1/(N.m)] */
  sb_real stribeck_velocity;        /* v_s [rad/s] */
  sb_real stribeck_exponent;        /* alpha */
  sb_real delay;                    /* delay of the goal [s]; for the caller */
  sb_real goal_slew;                /* limit of the goal's velocity [rad/s]; 1e9 never acts */
  sb_real dead_band;                /* half width of the ignored error [rad] */
  sb_real pwm_lag;                  /* time constant of the output [s] */
  sb_real supply_sag;               /* resistance of supply and cable [Ohm] */
  sb_real release_braking;          /* torque off: 0 open circuit, 1 shorted motor */
  sb_real inductance;               /* L, coast law only [H] */
  sb_real pwm_period;               /* coast law only [s] */
  sb_real kp;                       /* proportional gain */
  sb_real ki;                       /* integral gain, the same per s */
  sb_real kd;                       /* derivative gain, the same times s */
  sb_real kv;                       /* velocity feedback: duty cycle or A per rad/s */
  sb_real output_limit;             /* largest duty cycle or current [A] */
  sb_real opposing_gate;            /* 1: the quadratic term acts only where the torques oppose */
  sb_real release_delay;            /* delay of the torque switch [s]; for the caller */
  sb_real control_period;           /* time between two actions of the control law [s]; 0: it is continuous */
  sb_real bristle_stiffness;        /* K of an elastoplastic contact [N.m/rad] */
  sb_real bristle_damping;          /* B of an elastoplastic contact [N.m.s/rad] */
  sb_real angle_ignored;            /* 1: the control law does not compare the goal with the angle */
  sb_real speed_feedback;           /* 1: it compares the goal with the speed */
  sb_real current_limit;            /* voltage law: largest motor current [A]; 1e9 never acts */
  sb_real output_offset;            /* share of output_limit that is added in the direction of the error */
  sb_real pulse_sag;                /* resistance of a supply that nothing buffers at the servo [Ohm] */
  sb_real load_memory;              /* time constant of the friction by the load [s]; 0: it follows at once */
} sb_servo;

/* State of servo and friction between steps; start with sb_at_rest. */
typedef struct {
  sb_real goal;       /* after the limit of its velocity [rad] */
  sb_real output;     /* duty cycle or A */
  sb_real integral;   /* duty cycle or A */
  sb_real drawn;      /* supply current [A] */
  sb_real velocity;   /* before the step [rad/s] */
  sb_real damping;    /* decrease of the output with velocity [duty cycle or A per rad/s] */
  sb_real drag;       /* decrease of the motor torque with velocity [N.m.s/rad] */
  sb_real friction;   /* against the motion [N.m] */
  sb_real deflection; /* deflection of an elastoplastic contact [rad] */
  sb_real held;       /* output of a law that acts once a period [duty cycle or A] */
  sb_real error;      /* that the law saw last [rad] */
  sb_real since;      /* time since it acted [s]; 0: it has not acted */
  int released;       /* 1: the torque was off */
  sb_real slide;      /* speed of the motor relative to the load, set by the caller; 0 without backlash [rad/s] */
  sb_real remembered; /* friction by the load, with load_memory; negative before the first step [N.m] */
} sb_state;

/* The goal during a step: `first`, and `next` for the last `share` of it [rad, or the unit of another command]. */
typedef struct {
  sb_real first, next, share;
} sb_goal;

/* Commands that a motion requires. */
typedef struct {
  sb_real motor_torque;    /* [N.m] */
  sb_real friction_torque; /* the part of it that overcomes friction [N.m] */
  sb_real output;          /* duty cycle or A that gives the motor torque */
  sb_real goal_offset;     /* add to the wanted position (or speed, with speed_feedback) to compensate everything [rad];
                            * a torque, current, voltage or duty cycle is the command itself */
  sb_real friction_offset; /* add instead to compensate friction only [rad] */
  int saturated;           /* 1: beyond the motor's range, or self-locking; the torque is the limit */
} sb_command;

static inline sb_real sb_clip(sb_real x, sb_real limit) {
  return x > limit ? limit : (x < -limit ? -limit : x);
}

static inline sb_real sb_sign(sb_real x) {
  return x > SB_C(0) ? SB_C(1) : (x < SB_C(0) ? SB_C(-1) : SB_C(0));
}

/* Share of the excess friction at rest that remains at a velocity [rad/s]. */
static inline sb_real sb_stribeck(const sb_servo *servo, sb_real velocity) {
  return SB_MATH(exp)(
      -SB_MATH(pow)(SB_MATH(fabs)(velocity) / servo->stribeck_velocity, servo->stribeck_exponent));
}

/* Excess of friction at rest over fast sliding [N.m]; eq. (10). */
static inline sb_real sb_extra_at_rest(const sb_servo *servo, sb_real motor, sb_real external) {
  const sb_real by_motor = SB_MATH(fabs)(motor), by_load = SB_MATH(fabs)(external);
  sb_real quadratic = SB_C(0);
  if (by_motor > by_load) {
    quadratic = servo->load_external_quad * external * external;
  } else if (by_load > by_motor) {
    quadratic = servo->load_motor_quad * motor * motor;
  }
  if (motor * external >= SB_C(0)) {
    quadratic *= SB_C(1) - servo->opposing_gate;
  }
  return servo->friction_stribeck + quadratic +
         SB_MATH(fabs)(servo->load_motor_stribeck * motor - servo->load_external_stribeck * external);
}

/* Friction budget [N.m] at a motor torque, an external torque [N.m] and a velocity [rad/s]; eq. (10). */
static inline sb_real sb_friction_budget(const sb_servo *servo, sb_real motor, sb_real external, sb_real velocity) {
  return servo->friction_viscous * SB_MATH(fabs)(velocity) + servo->friction_base +
         SB_MATH(fabs)(servo->load_motor * motor - servo->load_external * external) +
         sb_stribeck(servo, velocity) * sb_extra_at_rest(servo, motor, external);
}

/* Root s >= 0 of s + u*E(s) = d: the slip velocity in units of the Stribeck velocity, for d >= u >= 0. E is 1/(1 + s),
 * or exp(-s^alpha), solved by Halley steps from the root of its steepest tangent. If u*E falls so steeply that there
 * would be several roots, because the step is too long for the inertia, E is taken at a smaller slip, so that friction
 * does not jump. */
static inline sb_real sb_slip(const sb_servo *servo, sb_real u, sb_real d) {
  const sb_real alpha = servo->stribeck_exponent, slowest = SB_C(1e-12), tiny = SB_C(1e-30);
  sb_real level = SB_C(1), slope = SB_C(1), ratio, lowered, s;
  int i;
  if (alpha > SB_C(1) && servo->contact != SB_ELASTOPLASTIC_RATIONAL) {
    const sb_real power = (alpha - SB_C(1)) / alpha, where = SB_MATH(pow)(power, SB_C(1) / alpha);
    const sb_real height = SB_MATH(exp)(-power);
    slope = alpha * power / where * height;
    level = height + slope * where;
  }
  ratio = SB_MATH(fmax)(u * slope / SB_C(0.98), SB_C(1));
  lowered = u / ratio;
  d -= u - lowered;
  u = lowered;
  if (servo->contact == SB_ELASTOPLASTIC_RATIONAL) {
    const sb_real half = SB_C(0.5) * (d - SB_C(1));
    const sb_real root = SB_MATH(sqrt)(SB_MATH(fmax)(half * half + d - u, SB_C(0)));
    s = half > SB_C(0) ? half + root : (d - u) / SB_MATH(fmax)(root - half, tiny);
    return d - ratio * (d - s) + (ratio - SB_C(1)) * u;
  }
  s = (d - u * level) / (SB_C(1) - u * slope);
  s = SB_MATH(fmin)(SB_MATH(fmax)(s, d - u), d);
  for (i = 0; i < 4; i++) {
    s = SB_MATH(fmax)(s, slowest);
    {
      /* Left side minus d, its slope times s, its curvature times s*s. */
      const sb_real power = SB_MATH(pow)(s, alpha), fallen = u * SB_MATH(exp)(-power), f = s + fallen - d;
      const sb_real bend = alpha * power * fallen, first = s - bend, square = first * first;
      const sb_real second = bend * (alpha * power - (alpha - SB_C(1)));
      const sb_real below = SB_MATH(fmax)(SB_MATH(fmax)(SB_C(2) * square - f * second, square), tiny);
      s = SB_MATH(fmin)(SB_MATH(fmax)(s - SB_C(2) * f * s * first / below, d - u), d);
    }
  }
  return d - ratio * (d - s) + (ratio - SB_C(1)) * u;
}

/* Inertia [kg.m2] including velocity-dependent torques, which then act with the mean of old and new velocity. Call it
 * after sb_motor_torque. inertia: load and armature [kg.m2]; step [s]. */
static inline sb_real sb_inertia(const sb_servo *servo, const sb_state *state, sb_real inertia, sb_real step) {
  const sb_real viscous = servo->contact == SB_RIGID ? servo->friction_viscous : SB_C(0);
  return inertia + SB_C(0.5) * step * (state->drag + viscous);
}

/* Mean dry friction [N.m], against the motion, over a step with this initial momentum per step and this torque [N.m].
 * The shaft continues, stops and stays, or stops and reverses, and friction with it. */
static inline sb_real sb_mean_friction(sb_real momentum, sb_real torque, sb_real budget) {
  const sb_real side = momentum >= SB_C(0) ? SB_C(1) : SB_C(-1), size = side * momentum, against = -side * torque;
  const sb_real turning = budget * (SB_C(2) * size / SB_MATH(fmax)(against + budget, SB_C(1e-30)) - SB_C(1));
  return side * SB_MATH(fmin)(SB_MATH(fmax)(size - against, turning), budget);
}

/* Excess of a bristle's torque in the middle of a step over its mean [N.m], if slip begins or ends within the step: a
 * line from begin through stuck, which is its value in the middle, that stops rising at the torque at rest. */
static inline sb_real sb_onset(sb_real begin, sb_real stuck, sb_real at_rest) {
  const sb_real rise = SB_C(2) * (stuck - begin), size = SB_MATH(fabs)(rise), tiny = SB_C(1e-30);
  const sb_real share = (at_rest - begin) / (size > tiny ? rise : tiny);
  const sb_real kink = SB_MATH(fmax)(SB_MATH(fmin)(share, SB_C(1) - share), SB_C(0));
  return SB_C(0.5) * size * kink * kink;
}

/* Excess over a step of the friction by the load over that of this load [N.m]: the mean of a lag with the time constant
 * load_memory, which starts settled. Updates the state; sb_friction_torque calls it. motor, external: in the middle of
 * the step [N.m]; step [s]. */
static inline sb_real sb_remembered(const sb_servo *servo, sb_state *state, sb_real motor, sb_real external,
                                    sb_real step) {
  const sb_real load = SB_MATH(fabs)(servo->load_motor * motor - servo->load_external * external);
  const sb_real missing = state->remembered < SB_C(0) ? SB_C(0) : state->remembered - load;
  sb_real share;
  if (!(servo->load_memory > SB_C(0))) {
    return SB_C(0);
  }
  share = -SB_MATH(expm1)(-step / servo->load_memory);
  state->remembered = load + (SB_C(1) - share) * missing;
  return share * servo->load_memory / step * missing;
}

/* Friction torque during a time step [N.m]; updates the state. Add it to the other torques: acceleration =
 * (motor + external + friction)/inertia. velocity: before the step [rad/s]; inertia: from sb_inertia [kg.m2]; step [s].
 * A rigid contact follows eqs (4, 5). An elastoplastic contact bends its bristle at the shaft's velocity in the middle
 * of the step, or later if it would oscillate, minus its slip. Budgets are those in the middle of the step. */
static inline sb_real sb_friction_torque(const sb_servo *servo, sb_state *state, sb_real motor, sb_real external,
                                         sb_real velocity, sb_real inertia, sb_real step) {
  const sb_real torque = motor + external, half = SB_C(0.5) * step / inertia;
  /* A rigid shaft at rest may be held: its friction is unknown when a simulation begins. */
  const int held = servo->contact == SB_RIGID && !(velocity < SB_C(0) || velocity > SB_C(0));
  const sb_real gained = held ? SB_C(0) : half * (torque - state->friction), load = motor - state->drag * gained;
  const sb_real excess = sb_remembered(servo, state, load, external, step);
  sb_real stiff, share, compliance, spring, later, wished, stuck, sliding, at_rest, friction;
  if (servo->contact == SB_RIGID) {
    const sb_real slower = SB_MATH(fabs)(velocity) - SB_MATH(fabs)(velocity + gained);
    const sb_real budget = sb_friction_budget(servo, load, external, velocity + gained) + excess;
    state->friction = sb_mean_friction(velocity * inertia / step, torque, budget + servo->friction_viscous * slower);
    return -state->friction;
  }
  stiff = servo->bristle_stiffness * step;
  share = SB_MATH(fmax)(SB_C(0.5), SB_C(1) - servo->bristle_damping / stiff);
  compliance = SB_C(1) / (share * stiff + servo->bristle_damping);
  spring = compliance * servo->bristle_stiffness * state->deflection;
  later = SB_MATH(fmax)(half, SB_C(2) * half - compliance);
  wished = velocity + later * torque + spring;
  stuck = SB_MATH(fabs)(wished) / (compliance + later);
  sliding = servo->friction_base + SB_MATH(fabs)(servo->load_motor * load - servo->load_external * external) + excess;
  at_rest = sb_extra_at_rest(servo, load, external);
  friction = stuck;
  if (stuck > sliding + at_rest) {
    const sb_real z = compliance + later, size = SB_MATH(fabs)(wished);
    const sb_real scale = z / (servo->stribeck_velocity * (SB_C(1) + z * servo->friction_viscous));
    const sb_real u = scale * at_rest, d = SB_MATH(fmax)(scale * (size / z - sliding), u);
    friction = SB_MATH(fmin)((size - servo->stribeck_velocity * sb_slip(servo, u, d)) / z, stuck);
  }
  if (later <= half && share <= SB_C(0.5)) {
    const sb_real begin = servo->bristle_damping * velocity + servo->bristle_stiffness * state->deflection;
    friction -= sb_onset(wished >= SB_C(0) ? begin : -begin, stuck, sliding + at_rest);
  }
  state->friction = wished >= SB_C(0) ? friction : -friction;
  state->deflection = compliance * ((servo->bristle_damping - (SB_C(1) - share) * stiff) * state->deflection +
                                    step * state->friction);
  return -state->friction;
}

/* A drive/coast bridge: its mean current [A], the share of time in which the back-EMF drives a current, and the
 * derivative of the current by the duty cycle [A]. */
typedef struct {
  sb_real current, conducting, per_duty;
} sb_bridge;

/* A drive/coast bridge at a duty cycle, a supply voltage and a back-EMF [V]. With the switch on, the current tends to
 * (supply - emf)/R; with it off, it falls through the diodes towards -(supply + emf)/R until it is zero. */
static inline sb_bridge sb_coast_bridge(const sb_servo *servo, sb_real duty, sb_real supply, sb_real emf) {
  const sb_real side = duty >= SB_C(0) ? SB_C(1) : SB_C(-1), along = side * emf;
  const sb_real share = SB_MATH(fmin)(SB_MATH(fabs)(duty), SB_C(1));
  const sb_real resistance = servo->resistance + servo->pulse_sag * share;
  const sb_real rising = (supply - along) / resistance, falling = (supply + along) / resistance;
  const sb_real electric_time = servo->inductance / resistance, on_time = share * servo->pwm_period;
  sb_bridge bridge = {SB_C(0), SB_C(1), SB_C(0)};
  if (rising <= SB_C(0)) {
    bridge.current = side * rising;
    return bridge;
  }
  if (falling > SB_C(0)) {
    const sb_real risen = -SB_MATH(expm1)(-on_time / electric_time), peak = rising * risen;
    const sb_real fall_time = electric_time * SB_MATH(log1p)(peak / falling);
    if (on_time + fall_time < servo->pwm_period) {
      const sb_real decay = electric_time * (peak + falling * risen) / (falling + peak);
      bridge.current = side * (rising * on_time - falling * fall_time) / servo->pwm_period;
      bridge.conducting = (on_time + fall_time - decay) / servo->pwm_period;
      bridge.per_duty = rising * (SB_C(1) - falling * (SB_C(1) - risen) / (falling + peak));
      return bridge;
    }
  }
  bridge.current = side * ((SB_C(2) * share - SB_C(1)) * supply - along) / resistance;
  bridge.per_duty = SB_C(2) * supply / resistance;
  return bridge;
}

/* State of a servo at rest at a position [rad]. */
static inline sb_state sb_at_rest(sb_real position) {
  const sb_state state = {position, SB_C(0), SB_C(0), SB_C(0), SB_C(0), SB_C(0), SB_C(0),
                          SB_C(0),  SB_C(0), SB_C(0), SB_C(0), SB_C(0), 0,       SB_C(0), SB_C(-1)};
  return state;
}

/* A goal that does not change during the step [rad]. */
static inline sb_goal sb_held(sb_real goal) {
  const sb_goal held = {goal, goal, SB_C(0)};
  return held;
}

/* Output that is added in the direction of the error [duty cycle or A]. */
static inline sb_real sb_offset(const sb_servo *servo, sb_real error) {
  return servo->output_offset * servo->output_limit * sb_clip(error / SB_OFFSET_WIDTH, SB_C(1));
}

/* Mean output over a step of a law that acts once a period, and its decrease with velocity in `damping`; between two
 * actions the output is held. position and velocity at the beginning of the step [rad, rad/s]. */
static inline sb_real sb_sampled_law(const sb_servo *servo, sb_state *state, sb_goal goal, sb_real position,
                                     sb_real velocity, sb_real step, sb_real *damping) {
  const sb_real between = servo->control_period, reach = servo->goal_slew * between;
  sb_real at = SB_C(0), total = SB_C(0), due = SB_C(0);
  int acted = state->since > SB_C(0);
  if (acted) {
    due = SB_MATH(fmax)(between - state->since, SB_C(0));
  }
  state->since += step;
  *damping = SB_C(0);
  /* At the boundary of two steps the law acts in the second one, with its goal. */
  while (due < step * (SB_C(1) - SB_C(SB_ENDS))) {
    const sb_real arrived = due < (SB_C(1) - goal.share) * step ? goal.first : goal.next;
    sb_real error, wanted;
    total += state->held * (due - at);
    at = due;
    state->goal += sb_clip(arrived - state->goal, reach);
    error = state->goal - (SB_C(1) - servo->angle_ignored) * (position + velocity * due);
    error -= servo->speed_feedback * velocity;
    error -= sb_clip(error, servo->dead_band);
    state->integral = sb_clip(state->integral + servo->ki * error * between, servo->output_limit);
    wanted = servo->kp * error + state->integral - servo->kv * velocity + sb_offset(servo, error);
    if (acted) {
      wanted += servo->kd * (error - state->error) / between;
    }
    acted = 1;
    state->error = error;
    state->held = sb_clip(wanted, servo->output_limit);
    /* The actions after the first one would see the velocity of this step change. */
    *damping = SB_MATH(fabs)(wanted) > servo->output_limit
                   ? SB_C(0)
                   : SB_MATH(fmax)(SB_C(1) - between / step, SB_C(0)) *
                         (servo->kd + servo->kv + servo->kp * servo->speed_feedback);
    state->since = step - due;
    due += between;
  }
  return (total + state->held * (step - at)) / step;
}

/* Output of a law that acts all the time: its mean over a step, and its decrease with velocity in `damping`. position
 * in the middle of the step [rad]; velocity before it [rad/s]. */
static inline sb_real sb_continuous_law(const sb_servo *servo, sb_state *state, sb_goal goal, sb_real position,
                                        sb_real velocity, sb_real step, sb_real *damping) {
  const sb_real reach = servo->goal_slew * step, start = state->goal;
  /* A speed loop integrates the angle that the shaft has turned: correct the last step by its change of speed. */
  const sb_real turned = SB_C(0.5) * step * servo->speed_feedback * (velocity - state->velocity);
  const sb_real summed = state->integral - servo->ki * turned;
  const sb_real first = sb_clip(goal.first - start, (SB_C(1) - goal.share) * reach), between = start + first;
  const sb_real second = sb_clip(goal.next - between, goal.share * reach);
  const sb_real ramps = first * SB_MATH(fabs)(first) + second * SB_MATH(fabs)(second);
  sb_real error = between + goal.share * second - SB_C(0.5) * ramps / reach, wanted;
  error -= (SB_C(1) - servo->angle_ignored) * position + servo->speed_feedback * velocity;
  error -= sb_clip(error, servo->dead_band);
  state->goal = between + second;
  state->integral = sb_clip(summed + servo->ki * error * step, servo->output_limit);
  wanted = servo->kp * error + SB_C(0.5) * (summed + state->integral) - servo->kv * velocity;
  wanted += sb_offset(servo, error);
  *damping = servo->kv + servo->kp * servo->speed_feedback;
  if (error < SB_C(0) || error > SB_C(0)) {
    wanted += servo->kd * ((state->goal - start) / step - velocity);
    *damping += servo->kd;
  }
  *damping = SB_MATH(fabs)(wanted) > servo->output_limit ? SB_C(0) : *damping;
  return sb_clip(wanted, servo->output_limit);
}

/* Current [A] to which a voltage law's current limit changes another one, as far as the bridge can; emf, supply [V]. */
static inline sb_real sb_limited(const sb_servo *servo, sb_real current, sb_real supply, sb_real emf) {
  const sb_real full = servo->output_limit * supply, limit = servo->current_limit;
  const sb_real most = SB_MATH(fmax)(limit, (-full - emf) / servo->resistance);
  return SB_MATH(fmin)(SB_MATH(fmax)(current, SB_MATH(fmin)(-limit, (full - emf) / servo->resistance)), most);
}

/* Duty cycle that drives a current [A] through the supply's resistance: d*U = R*I + e with
 * U = U0 - R_s*d*I - R_p*I. */
static inline sb_real sb_duty(const sb_servo *servo, sb_real current, sb_real supply, sb_real emf) {
  const sb_real voltage = current * servo->resistance + emf, drawn = SB_MATH(fmax)(voltage * current, SB_C(0));
  supply -= drawn > SB_C(0) ? servo->pulse_sag * SB_MATH(fabs)(current) : SB_C(0);
  supply += SB_MATH(sqrt)(SB_MATH(fmax)(supply * supply - SB_C(4) * servo->supply_sag * drawn, SB_C(0)));
  return voltage / SB_MATH(fmax)(SB_C(0.5) * supply, SB_C(1e-9));
}

/* Motor torque [N.m] of one step of the control law, eqs (12-15); updates the state. position: in the middle of it
 * [rad]; velocity: before it [rad/s]; drive: share of the step with the torque on, 0 released; supply [V]; step [s].
 * Goal, integral and output act with their means over the step. */
static inline sb_real sb_motor_torque(const sb_servo *servo, sb_state *state, sb_goal goal, sb_real position,
                                      sb_real velocity, sb_real drive, sb_real supply, sb_real step) {
  const sb_real emf = servo->torque_constant * (velocity + state->slide);
  const sb_real beginning = position - SB_C(0.5) * step * velocity;
  const int on = drive > SB_C(SB_ENDS); /* not a rest of rounding */
  /* In the previous step the output followed the velocity of its middle, not of its beginning. */
  const sb_real before = state->output - SB_C(0.5) * state->damping * (velocity - state->velocity);
  sb_real lag = SB_C(1), late = SB_C(0), conductance = SB_C(1) / servo->resistance;
  sb_real wanted, control, output, feedback, current, duty;
  if (state->released) {
    state->goal = beginning;
  }
  control = servo->control_period > SB_C(0)
                ? sb_sampled_law(servo, state, goal, beginning, velocity, step, &feedback)
                : sb_continuous_law(servo, state, goal, position, velocity, step, &feedback);
  if (!on) {
    state->integral = state->held = state->since = SB_C(0);
  }
  if (servo->pwm_lag > SB_C(0)) {
    lag = -SB_MATH(expm1)(-step / servo->pwm_lag);
    late = lag * servo->pwm_lag / step;
  }
  output = on ? control + late * (before - control) : SB_C(0);
  state->output = on ? before + lag * (control - before) : SB_C(0);
  state->damping = on ? lag * feedback : SB_C(0);
  state->velocity = velocity;
  state->released = !on;
  feedback *= SB_C(1) - late;
  if (servo->law == SB_CURRENT) {
    sb_real least, most;
    if (SB_MATH(fabs)(emf) < supply) {
      /* At full duty cycle the current also flows through the supply's resistance. */
      conductance = SB_C(1) / (servo->resistance + servo->supply_sag + servo->pulse_sag);
    }
    least = (-supply - emf) * conductance;
    most = (supply - emf) * conductance;
    wanted = output * drive;
    current = SB_MATH(fmin)(SB_MATH(fmax)(wanted, least), most);
    state->drag = servo->torque_constant *
                  (wanted < least || wanted > most ? servo->torque_constant * conductance : feedback * drive);
    duty = sb_duty(servo, current, supply, emf);
  } else {
    const sb_real braking = (SB_C(1) - drive) * servo->release_braking / servo->resistance;
    sb_real per_emf, per_duty, held;
    if (servo->law == SB_VOLTAGE) {
      /* The supply voltage sags with the current the motor draws. */
      const int drawing = output * (output * supply - emf) > SB_C(0);
      const sb_real sag = drawing ? servo->supply_sag : SB_C(0), size = SB_MATH(fabs)(output);
      const sb_real pulse = drawing ? servo->pulse_sag : SB_C(0);
      conductance = SB_C(1) / (servo->resistance + (pulse + sag * size) * size);
      current = (output * supply - emf) * conductance;
      per_emf = conductance;
      per_duty = (supply - SB_C(2) * sag * output * current - pulse * SB_MATH(fabs)(current)) * conductance;
      held = sb_limited(servo, current, supply, emf);
      if (held < current || held > current) {
        current = held;
        output = sb_duty(servo, current, supply, emf);
        per_emf = SB_MATH(fabs)(current) > servo->current_limit ? SB_C(1) / servo->resistance : SB_C(0);
        per_duty = SB_C(0);
      }
    } else {
      /* The same by one Newton step from the supply voltage of the previous step. */
      const sb_real series = servo->resistance + servo->pulse_sag * SB_MATH(fabs)(output);
      const sb_real old = SB_MATH(fmax)(supply - servo->supply_sag * state->drawn, SB_C(1e-9));
      const sb_bridge bridge = sb_coast_bridge(servo, output, old, emf);
      const sb_real sag = output * bridge.current > SB_C(0) ? servo->supply_sag : SB_C(0);
      const sb_real lost = emf * bridge.conducting / series, per_volt = (bridge.current + lost) / old;
      const sb_real share = SB_C(1) / (SB_C(1) + sag * output * per_volt);
      per_emf = bridge.conducting * share / series;
      per_duty = (bridge.per_duty - sag * per_volt * bridge.current) * share;
      current = bridge.current + per_volt * ((supply + sag * output * lost) * share - old);
    }
    state->drag = servo->torque_constant *
                  (drive * (per_emf * servo->torque_constant + per_duty * feedback) + braking * servo->torque_constant);
    current = drive * current - braking * emf;
    duty = output * drive;
  }
  state->drawn = SB_MATH(fmax)(duty * current, SB_C(0));
  return servo->torque_constant * current;
}

/* Smallest (side -1) or largest (side 1) motor torque at a velocity [N.m]. */
static inline sb_real sb_end_of_range(const sb_servo *servo, sb_real side, sb_real velocity) {
  const sb_real emf = servo->torque_constant * velocity, supply = servo->supply_voltage;
  sb_real current;
  if (servo->law == SB_CURRENT) {
    current = SB_MATH(fmax)(side * servo->output_limit, (-supply - emf) / servo->resistance);
    current = SB_MATH(fmin)(current, (supply - emf) / servo->resistance);
  } else if (servo->law == SB_COAST) {
    current = sb_coast_bridge(servo, side * servo->output_limit, supply, emf).current;
  } else {
    current = sb_limited(servo, (side * servo->output_limit * supply - emf) / servo->resistance, supply, emf);
  }
  return servo->torque_constant * current;
}

/* Motor torque x that leaves `needed` after friction, x - direction*budget(x) = needed, within the motor's range.
 *
 * Between the torques where an absolute value or the quadratic term changes its branch, the left side is a polynomial
 * of degree two at most. The solution is on the first branch, from below, on which it grows through 0. Everything is
 * expressed along the motion, so that the direction is positive. */
static inline sb_real sb_solve_torque(const sb_servo *servo, sb_real needed, sb_real direction, sb_real external,
                                      sb_real velocity, int *saturated) {
  const sb_real side = direction < SB_C(0) ? SB_C(-1) : SB_C(1), share = SB_MATH(fabs)(direction);
  const sb_real e = side * external, stribeck = sb_stribeck(servo, velocity);
  const sb_real km = servo->load_motor, ke = servo->load_external;
  const sb_real kms = servo->load_motor_stribeck, kes = servo->load_external_stribeck;
  const sb_real low = side * sb_end_of_range(servo, -side, velocity);
  const sb_real high = side * sb_end_of_range(servo, side, velocity);
  const sb_real constant = servo->friction_viscous * SB_MATH(fabs)(velocity) + servo->friction_base +
                           stribeck * servo->friction_stribeck;
  sb_real edges[7];
  int i, k;
  edges[0] = low;
  edges[1] = km > SB_C(0) ? e * (ke / km) : SB_C(0);
  edges[2] = kms > SB_C(0) ? e * (kes / kms) : SB_C(0);
  edges[3] = e;
  edges[4] = -e;
  edges[5] = SB_C(0);
  edges[6] = high;
  for (i = 1; i < 6; i++) {
    const sb_real edge = SB_MATH(fmin)(SB_MATH(fmax)(edges[i], low), high);
    for (k = i; k > 1 && edges[k - 1] > edge; k--) {
      edges[k] = edges[k - 1];
    }
    edges[k] = edge;
  }
  for (i = 0; i < 6; i++) {
    const sb_real left = edges[i], right = edges[i + 1], middle = SB_C(0.5) * (left + right);
    const sb_real moving = sb_sign(km * middle - ke * e), resting = stribeck * sb_sign(kms * middle - kes * e);
    const sb_real gate = middle * e >= SB_C(0) && servo->opposing_gate > SB_C(0) ? SB_C(0) : stribeck;
    const int by_motor = SB_MATH(fabs)(middle) < SB_MATH(fabs)(e);
    const sb_real fixed = constant - (moving * ke + resting * kes) * e +
                          (by_motor ? SB_C(0) : gate * servo->load_external_quad * e * e);
    /* On this branch, left side minus right side is c + b*x - a*x*x. */
    const sb_real a = by_motor ? share * gate * servo->load_motor_quad : SB_C(0);
    const sb_real b = SB_C(1) - share * (moving * km + resting * kms);
    const sb_real c = -side * needed - share * fixed;
    const sb_real top = a > SB_C(0) ? SB_MATH(fmin)(SB_MATH(fmax)(b / (SB_C(2) * a), left), right) : right;
    if (c + (b - a * left) * left > SB_C(0)) {
      /* A jump skips the solution, or the solution is below the range. */
      *saturated = left <= low;
      return side * left;
    }
    if (c + (b - a * top) * top >= SB_C(0)) {
      const sb_real root = SB_MATH(sqrt)(SB_MATH(fmax)(b * b + SB_C(4) * a * c, SB_C(0)));
      const sb_real x = b > SB_C(0) ? SB_C(-2) * c / (b + root) : (b - root) / (a > SB_C(0) ? SB_C(2) * a : SB_C(1));
      *saturated = 0;
      return side * SB_MATH(fmin)(SB_MATH(fmax)(x, left), right);
    }
  }
  *saturated = 1;
  return side * high;
}

/* Duty cycle or current [A] for a motor torque at a velocity; unlimited, except for the coast law. */
static inline sb_real sb_output_for(const sb_servo *servo, sb_real torque, sb_real velocity) {
  const sb_real current = torque / servo->torque_constant, emf = servo->torque_constant * velocity;
  const sb_real supply = servo->supply_voltage;
  sb_real low = -servo->output_limit, high = servo->output_limit;
  int i;
  if (servo->law == SB_CURRENT) {
    return current;
  }
  if (servo->law == SB_VOLTAGE) {
    return sb_duty(servo, current, supply, emf);
  }
  for (i = 0; i < SB_HALVINGS; i++) {
    const sb_real duty = SB_C(0.5) * (low + high);
    const sb_real sagged = supply - servo->supply_sag * SB_MATH(fmax)(duty * current, SB_C(0));
    if (sb_coast_bridge(servo, duty, SB_MATH(fmax)(sagged, SB_C(1e-9)), emf).current > current) {
      high = duty;
    } else {
      low = duty;
    }
  }
  return SB_C(0.5) * (low + high);
}

/* Commands for a wanted motion. velocity [rad/s] and acceleration [rad/s2] are the wanted ones, not measured ones.
 * external: torque on the shaft other than the motor's [N.m]; inertia: of the load, without the armature [kg.m2].
 * preview: how far ahead the direction of motion is evaluated [s]; smoothing: speed over which friction reverses
 * [rad/s]; INFINITY leaves friction out. SB_PREVIEW and SB_SMOOTHING are good values. ki and kd must be 0. */

static inline sb_command sb_feedforward(const sb_servo *servo, sb_real velocity, sb_real acceleration,
                                        sb_real external, sb_real inertia, sb_real preview, sb_real smoothing) {
  const sb_real direction = SB_MATH(tanh)((velocity + preview * acceleration) / smoothing);
  const sb_real needed = (inertia + servo->armature) * acceleration - external;
  const sb_real per_torque = servo->law == SB_CURRENT ? SB_C(1) : servo->resistance / servo->supply_voltage;
  sb_command command;
  sb_real output, asked, pushed, size;
  command.motor_torque = sb_solve_torque(servo, needed, direction, external, velocity, &command.saturated);
  command.friction_torque = command.motor_torque - needed;
  output = sb_output_for(servo, command.motor_torque, velocity);
  command.output = sb_clip(output, servo->output_limit);
  command.saturated = command.saturated || SB_MATH(fabs)(output) > servo->output_limit;
  asked = command.output + servo->kv * velocity;
  /* Beyond the width of the offset, or within it, whichever error is larger. */
  pushed = servo->output_offset * servo->output_limit;
  size = SB_MATH(fmax)((SB_MATH(fabs)(asked) - pushed) / servo->kp,
                       SB_MATH(fabs)(asked) / (servo->kp + pushed / SB_OFFSET_WIDTH));
  command.goal_offset = sb_sign(asked) * (size + servo->dead_band);
  command.friction_offset = command.friction_torque * per_torque / (servo->torque_constant * servo->kp);
  return command;
}

#endif
