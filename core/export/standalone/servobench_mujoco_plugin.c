/* SPDX-License-Identifier: Apache-2.0 */
/* servobench_mujoco_plugin.c: servos with friction M1-M6 as a MuJoCo plugin, at native speed.
 *
 * One plugin instance is one servo. Its <config> holds the numbers of sb_servo in servobench_friction.h, which must be
 * next to this file. The first actuator that names the instance takes the goal [rad, or the unit of another command]. The optional second one switches
 * the torque: 1 on, 0 released. The servo's memory is part of the simulation state, so copies, resets, mj_setState,
 * mujoco.rollout and threads work as usual.
 *
 * In each step the force of the first actuator is the motor's torque, and the static part of the friction budget goes
 * into the joint's friction constraint. The engine's own solver finds the friction torque, together with contacts and
 * all joints (Duclusaud et al., section IV-E). Loads are those of the previous step. MuJoCo updates positions with the
 * new velocity, so its velocities lag half a step behind its positions. Therefore a command acts half a step later, and
 * budgets use the velocity half a step later. The engine integrates half of the velocity-dependent torque (viscous
 * friction, back-EMF, velocity gain) implicitly, as the joint's damping.
 *
 * Backlash is a second joint on the same body, named after the servo's with `_backlash` added; its limits are the teeth.
 * The servo's own joint is then the motor's. The law sees the load, at the sum of both angles, and between the teeth the
 * gears carry no load.
 */
#define SERVOBENCH_DOUBLE
#include "servobench_friction.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mujoco/mujoco.h>

#define FIELDS(DO) \
  DO(supply_voltage) DO(torque_constant) DO(resistance) DO(armature) DO(friction_base) DO(friction_viscous) \
  DO(load_motor) DO(load_external) DO(friction_stribeck) DO(load_motor_stribeck) DO(load_external_stribeck) \
  DO(load_motor_quad) DO(load_external_quad) DO(stribeck_velocity) DO(stribeck_exponent) DO(delay) DO(goal_slew) \
  DO(dead_band) DO(pwm_lag) DO(supply_sag) DO(release_braking) DO(inductance) DO(pwm_period) DO(kp) DO(ki) DO(kd) \
  DO(kv) DO(output_limit) DO(opposing_gate) DO(release_delay) DO(control_period)

/* Without effect unless the config has them. */
#define OTHERS(DO) DO(angle_ignored) DO(speed_feedback) DO(current_limit) DO(output_offset) DO(pulse_sag) DO(load_memory)

/* Memory from one step to the next; the simulation state holds it as numbers, followed by the last commands. */
typedef struct {
  mjtNum begun, head, before, external;
  mjtNum goal, output, integral, drawn, velocity, damping, drag, friction, deflection, held, error, since, released, remembered;
} kept;

enum { KEPT = sizeof(kept) / sizeof(mjtNum) };

/* A servo of a simulation, and its current step. */
typedef struct {
  sb_servo servo;
  int dof, position, goal, enable;
  int play, play_position; /* of the backlash joint; -1 without one */
  int length; /* of the memory of commands */
  mjtNum step;
  kept next;
  mjtNum commands[2], applied;
} servo_data;

static mjtNum number(const mjModel *m, int instance, const char *name) {
  const char *text = mj_getPluginConfig(m, instance, name);
  char *end;
  const mjtNum value = text && *text ? strtod(text, &end) : 0;
  return text && *text && *end == 0 && isfinite(value) && value >= 0 ? value : -1;
}

static int memory(const mjModel *m, int instance) {
  const mjtNum longest = fmax(number(m, instance, "delay"), number(m, instance, "release_delay"));
  return (int)ceil(fmax(longest, 0) / m->opt.timestep + 0.5) + 2;
}

static int number_of_states(const mjModel *m, int instance) {
  return KEPT + 2 * memory(m, instance);
}

/* The joint on the same body with the name of a servo's joint and "_backlash"; -1 if there is none. */
static int backlash_joint(const mjModel *m, int joint) {
  const char *own = mj_id2name(m, mjOBJ_JOINT, joint), *name;
  int i;
  for (i = 0; own && i < m->njnt; i++) {
    name = mj_id2name(m, mjOBJ_JOINT, i);
    if (name && m->jnt_bodyid[i] == m->jnt_bodyid[joint] && !strncmp(name, own, strlen(own)) &&
        !strcmp(name + strlen(own), "_backlash"))
      return i;
  }
  return -1;
}

/* Read a servo from the model; return NULL, or the reason why it is unsuitable. */
static const char *fill(servo_data *s, const mjModel *m, int instance) {
  static char wrong[80];
  const char *law = mj_getPluginConfig(m, instance, "law");
  int i, joint = -1;
#define READ(name)                                                              \
  if ((s->servo.name = number(m, instance, #name)) < 0) {                       \
    snprintf(wrong, sizeof wrong, "config %s is missing or invalid", #name); \
    return wrong;                                                               \
  }
  FIELDS(READ)
#define READ_OTHER(name) \
  if (*mj_getPluginConfig(m, instance, #name)) READ(name)
  s->servo.current_limit = 1e9;
  OTHERS(READ_OTHER)
#undef READ_OTHER
#undef READ
  s->servo.contact = SB_RIGID;
  if (law && !strcmp(law, "voltage")) s->servo.law = SB_VOLTAGE;
  else if (law && !strcmp(law, "current")) s->servo.law = SB_CURRENT;
  else if (law && !strcmp(law, "coast")) s->servo.law = SB_COAST;
  else return "config law is none of voltage, current, coast";
  s->goal = s->enable = -1;
  for (i = 0; i < m->nu; i++) {
    if (m->actuator_plugin[i] != instance) continue;
    if (m->actuator_trntype[i] != mjTRN_JOINT || (joint >= 0 && joint != m->actuator_trnid[2 * i]))
      return "its actuators are on different joints";
    if (m->actuator_gear[6 * i] != 1 || m->actuator_forcelimited[i]) return "an actuator has a gear or a forcerange";
    joint = m->actuator_trnid[2 * i];
    if (s->goal < 0) s->goal = i;
    else if (s->enable < 0) s->enable = i;
    else return "more than two actuators name it";
  }
  if (joint < 0) return "no actuator names it";
  if (m->jnt_type[joint] != mjJNT_HINGE && m->jnt_type[joint] != mjJNT_SLIDE) return "its joint is no hinge or slide";
  if (m->jnt_actfrclimited[joint]) return "its joint has an actuatorfrcrange";
  s->dof = m->jnt_dofadr[joint];
  s->position = m->jnt_qposadr[joint];
  i = backlash_joint(m, joint);
  s->play = i < 0 ? -1 : m->jnt_dofadr[i];
  s->play_position = i < 0 ? -1 : m->jnt_qposadr[i];
  if (!(m->dof_frictionloss[s->dof] > 0)) return "its joint has no frictionloss; use the joint class of the export";
  if (m->opt.disableflags & (mjDSBL_FRICTIONLOSS | mjDSBL_EULERDAMP | mjDSBL_REFSAFE | mjDSBL_ACTUATION | mjDSBL_CONSTRAINT))
    return "frictionloss, eulerdamp, refsafe, actuation or constraints are switched off";
  if (m->opt.integrator == mjINT_RK4) return "the integrator RK4 is not supported; use Euler or implicitfast";
  s->step = m->opt.timestep;
  s->length = memory(m, instance);
  return NULL;
}

static int init(const mjModel *m, mjData *d, int instance) {
  servo_data *s = calloc(1, sizeof(servo_data));
  const char *wrong = s ? fill(s, m, instance) : "no memory";
  if (wrong) {
    free(s);
    mju_error("servobench.servo: %s", wrong);
    return -1;
  }
  d->plugin_data[instance] = (uintptr_t)s;
  return 0;
}

static void destroy(mjData *d, int instance) {
  free((void *)d->plugin_data[instance]);
  d->plugin_data[instance] = 0;
}

static void reset(const mjModel *m, mjtNum *state, void *data, int instance) {
  memset(state, 0, sizeof(mjtNum) * number_of_states(m, instance));
  (void)data;
}

/* Commands during this step: those of `delay` [s] plus half a step ago. `past` has its newest entry at `head`. */
static sb_goal delayed(const servo_data *s, const mjtNum *past, int head, mjtNum now, mjtNum delay) {
  const mjtNum steps = delay / s->step + 0.5, whole = ceil(steps);
  const int older = (int)whole, newer = older - 1;
  sb_goal goal;
  goal.first = past[(head + s->length - older + 1) % s->length];
  goal.next = newer > 0 ? past[(head + s->length - newer + 1) % s->length] : now;
  goal.share = whole - steps;
  return goal;
}

static int friction_row(const mjData *d, int dof) {
  int row;
  for (row = d->ne; row < d->ne + d->nf; row++) {
    if (d->efc_id[row] == dof && d->efc_type[row] == mjCNSTR_FRICTION_DOF) return row;
  }
  return -1;
}

static void compute(const mjModel *m, mjData *d, int instance, int capability) {
  servo_data *s = (servo_data *)d->plugin_data[instance];
  const mjtNum *state = d->plugin_state + m->plugin_stateadr[instance], *past = state + KEPT;
  const mjtNum position = d->qpos[s->position] + (s->play < 0 ? 0 : d->qpos[s->play_position]);
  const mjtNum slide = s->play < 0 ? 0 : -d->qvel[s->play], velocity = d->qvel[s->dof], implicit = m->dof_damping[s->dof];
  const int row = friction_row(d, s->dof);
  kept *k = &s->next;
  sb_state servo;
  sb_goal goal, drive;
  mjtNum motor, rate, slope, budget;
  (void)capability;
  if (m->opt.timestep != s->step) mju_error("servobench.servo: the time step was changed; create a new mjData");
  memcpy(k, state, sizeof(kept));
  s->commands[0] = d->ctrl[s->goal];
  s->commands[1] = s->enable < 0 ? 1 : d->ctrl[s->enable];
  if (k->begun == 0) {
    servo = sb_at_rest(position);
    goal = sb_held(s->commands[0]);
    drive = sb_held(s->commands[1]);
    k->before = velocity;
    k->external = 0;
  } else {
    const sb_state was = {k->goal,    k->output, k->integral, k->drawn,      k->velocity,
                          k->damping, k->drag,   k->friction, k->deflection, k->held,
                          k->error,   k->since,  (int)k->released, 0, k->remembered};
    servo = was;
    goal = delayed(s, past, (int)k->head, s->commands[0], s->servo.delay);
    drive = delayed(s, past + s->length, (int)k->head, s->commands[1], s->servo.release_delay);
  }
  servo.slide = slide;
  rate = velocity - k->before;
  motor = sb_motor_torque(&s->servo, &servo, goal, position, velocity - slide,
                          drive.first + drive.share * (drive.next - drive.first), s->servo.supply_voltage, s->step);
  slope = servo.drag + s->servo.friction_viscous;
  budget = sb_friction_budget(&s->servo, motor - 0.5 * servo.drag * rate, k->external, velocity + 0.5 * rate) -
           s->servo.friction_viscous * fabs(velocity + 0.5 * rate);
  /* The load is unknown in the first step. */
  if (k->begun != 0) budget += sb_remembered(&s->servo, &servo, motor - 0.5 * servo.drag * rate, k->external, s->step);
  /* The joint's damping is half of a driven servo's slope; correct the difference with the last step's rate. */
  s->applied = motor - s->servo.friction_viscous * velocity + implicit * velocity + (implicit - 0.5 * slope) * rate;
  if (row >= 0) {
    d->efc_frictionloss[row] = budget + 1e-12;
    /* The engine has already copied the constraints of each island. */
    if (d->nisland > 0) d->iefc_frictionloss[d->map_efc2iefc[row]] = budget + 1e-12;
  }
  d->actuator_force[s->goal] = s->applied;
  if (s->enable >= 0) d->actuator_force[s->enable] = 0;
  k->begun = 1;
  k->before = velocity;
  k->goal = servo.goal;
  k->output = servo.output;
  k->integral = servo.integral;
  k->drawn = servo.drawn;
  k->velocity = servo.velocity;
  k->damping = servo.damping;
  k->drag = servo.drag;
  k->held = servo.held;
  k->error = servo.error;
  k->since = servo.since;
  k->released = servo.released;
  k->remembered = servo.remembered;
}

/* After the step: store its memory, and the load without the joint's own motor, damping and friction. */
static void advance(const mjModel *m, mjData *d, int instance) {
  servo_data *s = (servo_data *)d->plugin_data[instance];
  mjtNum *state = d->plugin_state + m->plugin_stateadr[instance], *past = state + KEPT;
  const int row = friction_row(d, s->dof), fresh = state[0] == 0;
  int i, which;
  s->next.external = d->qfrc_smooth[s->dof] - s->applied + m->dof_damping[s->dof] * s->next.before +
                     d->qfrc_constraint[s->dof] - (row >= 0 ? d->efc_force[row] : 0);
  if (s->play >= 0 && d->qfrc_constraint[s->play] == 0) s->next.external = 0;
  s->next.head = fresh ? 0 : (mjtNum)(((int)s->next.head + 1) % s->length);
  for (which = 0; which < 2; which++) {
    for (i = 0; fresh && i < s->length; i++) past[which * s->length + i] = s->commands[which];
    past[which * s->length + (int)s->next.head] = s->commands[which];
  }
  memcpy(state, &s->next, sizeof(kept));
}

mjPLUGIN_LIB_INIT(servobench_servo) {
#define NAME(name) #name,
  static const char *const attributes[] = {FIELDS(NAME) OTHERS(NAME) "law"};
#undef NAME
  mjpPlugin plugin;
  mjp_defaultPlugin(&plugin);
  plugin.name = "servobench.servo";
  plugin.capabilityflags = mjPLUGIN_ACTUATOR;
  plugin.nattribute = sizeof(attributes) / sizeof(*attributes);
  plugin.attributes = attributes;
  plugin.nstate = number_of_states;
  plugin.init = init;
  plugin.destroy = destroy;
  plugin.reset = reset;
  plugin.compute = compute;
  plugin.advance = advance;
  mjp_registerPlugin(&plugin);
}
