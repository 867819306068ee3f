"""CANopen over EtherCAT: `mailbox`, `sdo` and `information` reach the objects in `dictionary`; `mapping` packs them."""
