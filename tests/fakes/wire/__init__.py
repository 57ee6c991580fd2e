"""The wire room: hook points, journal, clock, hosting and streets, shown on a fake as small as can be."""
