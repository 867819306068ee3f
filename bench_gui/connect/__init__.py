"""The Bench page: connecting a servo, its settings and the pendulum it carries."""
