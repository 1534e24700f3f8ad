"""What all commands share: the ledger, the footprint, planning and the decision."""
