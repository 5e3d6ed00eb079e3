"""Parts of tests/structure: `rust` and `typescript` read the code, `declared` reads structure.layers, the others count."""
