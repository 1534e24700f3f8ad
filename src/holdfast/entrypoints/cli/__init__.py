"""The command line: `holdfast --help`."""
