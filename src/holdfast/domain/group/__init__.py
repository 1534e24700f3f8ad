"""The parts all commands share: the ledger, the footprint, planning and the decision."""
