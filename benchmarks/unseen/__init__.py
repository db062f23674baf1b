"""Programs that nobody tuned the compiler on."""
