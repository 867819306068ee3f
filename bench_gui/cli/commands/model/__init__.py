"""Commands about models: identification, evidence, simulation, export."""
