"""Where rows live: in memory or in an engine; everything after `open_source` is written once."""
