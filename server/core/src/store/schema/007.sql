-- Version 7: blame needs to read less; what a restore made of text that was not saved.

-- Which lines an edit changed, of its file's text before it: noted when the edit is recorded, or when blame first
-- came by. A cache.
CREATE TABLE hunks (
  change INTEGER PRIMARY KEY REFERENCES change(id),
  lines BLOB NOT NULL                 -- version, lines before and after, then for each hunk: lines kept, removed, added
);

-- Text that was not saved when a node was made; of two editors with the same name, both. `made`: what a restore
-- made of it in the document, a content of the store; NULL: nothing.
CREATE TABLE node_text (
  node INTEGER NOT NULL REFERENCES node(id),
  path BLOB NOT NULL,
  editor TEXT NOT NULL,
  pid INTEGER NOT NULL,               -- of its language server; 0: not known
  content BLOB NOT NULL,              -- a content of the store
  base BLOB,
  made BLOB,
  PRIMARY KEY (node, path, editor, pid, content)
) WITHOUT ROWID;
INSERT INTO node_text (node, path, editor, pid, content, base)
  SELECT node, path, editor, 0, content, base FROM node_buffer;
DROP TABLE node_buffer;

ALTER TABLE journal_edit ADD COLUMN made BLOB;
