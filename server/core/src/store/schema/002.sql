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

-- Prompts, labels and tool inputs by their words: the rowid is the node. Filled when first asked for, up to
-- the node that `meta` says.
CREATE VIRTUAL TABLE words USING fts5 (body, content = '', contentless_delete = 1);

-- Nodes by the paths that they changed: where a file is, and where it was before it moved or went.
DROP INDEX change_path;
CREATE INDEX change_path ON change(after_path, node);
CREATE INDEX change_left ON change(before_path, node)
  WHERE before_path IS NOT NULL AND before_path IS NOT after_path;

-- Few among the many steps and turns.
CREATE INDEX node_rare ON node(kind) WHERE kind NOT IN ('step', 'turn');
CREATE INDEX operation_of ON operation(of) WHERE of IS NOT NULL;
