-- Version 8: checkpoints that stay, however old.

CREATE TABLE pin (
  node INTEGER PRIMARY KEY REFERENCES node(id),
  time INTEGER NOT NULL
);

-- Of a checkpoint that stands for several, JSON: how many, since when, whose. NULL: it is one.
ALTER TABLE node ADD COLUMN squashed TEXT;
