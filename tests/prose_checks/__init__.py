"""What tests/prose reads, and its rules."""
