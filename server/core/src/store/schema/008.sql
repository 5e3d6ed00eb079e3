-- Version 8: checkpoints that stay, however old.

CREATE TABLE pin (
  node INTEGER PRIMARY KEY REFERENCES node(id),
  time INTEGER NOT NULL
);
