"""Where runs happen. Every rig has the same shape: `run(schedule) -> History`. Rigs may know candidates, fakes and injectors."""
