"""Stand-ins for the names of Isaac Lab that an exported actuator imports; Isaac Sim itself cannot run here."""
