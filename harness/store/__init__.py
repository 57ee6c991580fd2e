"""Campaigns, histories and failure bundles on disk. Evidence is written before it is judged; whole files are replaced atomically."""
