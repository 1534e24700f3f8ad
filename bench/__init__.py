"""The benchmarks: `make bench`. Claims are ratios within one run on one machine, never times."""
