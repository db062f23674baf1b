"""Programs whose surroundings change: between calls and between processes."""
