-- Version 2: branches beside each other, several roots, blame, search.

-- A file that came into sight at a node: its state before is not known. What it was then is the state
-- without any edit.
CREATE TABLE adopted (
  node INTEGER NOT NULL REFERENCES node(id),
  file INTEGER NOT NULL REFERENCES file(id),
  PRIMARY KEY (node, file)
) WITHOUT ROWID;

-- Directories of one store are apart: who works in one cannot have changed a file in another.
ALTER TABLE session ADD COLUMN root INTEGER REFERENCES root(id);
ALTER TABLE call ADD COLUMN root INTEGER REFERENCES root(id);
UPDATE session SET root = (SELECT MIN(id) FROM root);
UPDATE call SET root = (SELECT MIN(id) FROM root);

-- A switch: where it leads. Its journal has no edits.
ALTER TABLE operation ADD COLUMN to_branch INTEGER REFERENCES branch(id);

-- A branch that was deleted: its checkpoints stay, its name is free.
ALTER TABLE branch ADD COLUMN deleted INTEGER;

-- Lines of a change's diff, counted when first asked for.
CREATE TABLE counted (
  change INTEGER PRIMARY KEY REFERENCES change(id),
  added INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  binary INTEGER NOT NULL
);

-- Who wrote each line of a file with this set in force: runs of (lines, change). A cache.
CREATE TABLE blame (
  file INTEGER NOT NULL REFERENCES file(id),
  set_hash BLOB NOT NULL,
  runs BLOB NOT NULL,
  PRIMARY KEY (file, set_hash)
) WITHOUT ROWID;

-- Prompts and tool inputs by their words: the rowid is twice the turn, or twice the call and one. Filled
-- when first asked for, up to what `meta` says.
CREATE VIRTUAL TABLE words USING fts5 (body, content = '', contentless_delete = 1);
