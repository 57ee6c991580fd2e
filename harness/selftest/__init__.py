"""The self-test: proves that the alarm rings. Sound ledgers are swept and must not be accused; every planted bug must be found."""
