"""Parts of tests/prose: `comments`, `documents` and `texts` read the files, `sentences` has the rules."""
