-- Version 5: editors beside the command line, and text that is not saved.

-- A language server at work. It holds the lock of the file `editors/<id>.lock` as long as it lives: what
-- stands here without that lock is left over from one that died.
CREATE TABLE editor (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  root INTEGER NOT NULL REFERENCES root(id),
  name TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL
);

-- A document whose text is not that of its file. One row each, written over while the user types.
CREATE TABLE buffer (
  root INTEGER NOT NULL REFERENCES root(id),
  editor INTEGER NOT NULL REFERENCES editor(id),
  path BLOB NOT NULL,
  text BLOB NOT NULL,                 -- zstd
  size INTEGER NOT NULL,
  hash BLOB NOT NULL,                 -- BLAKE3 of the text
  base BLOB,                          -- of what it was loaded from or last saved as; NULL: no file
  version INTEGER NOT NULL,           -- the client's own number
  time INTEGER NOT NULL,
  PRIMARY KEY (root, editor, path)
) WITHOUT ROWID;

-- Text that was not saved when a node was made.
CREATE TABLE node_buffer (
  node INTEGER NOT NULL REFERENCES node(id),
  path BLOB NOT NULL,
  editor TEXT NOT NULL,
  content BLOB NOT NULL,              -- a content of the store
  base BLOB,
  PRIMARY KEY (node, path, editor)
) WITHOUT ROWID;

-- Documents whose text an operation changes in an editor, and not on disk: part of its journal.
CREATE TABLE journal_edit (
  operation INTEGER NOT NULL REFERENCES operation(id),
  path BLOB NOT NULL,
  editor TEXT NOT NULL,
  pid INTEGER NOT NULL,
  disk BLOB,                          -- image that the disk keeps; NULL: the disk is changed as usual
  wanted BLOB,                        -- image that the record has from now on
  text BLOB,                          -- content: what was in the document and not saved
  base BLOB,
  PRIMARY KEY (operation, path, editor)
) WITHOUT ROWID;

-- A file of which the record says `wanted` and the disk still holds `disk`, until an editor saves it.
CREATE TABLE pending_save (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  root INTEGER NOT NULL REFERENCES root(id),
  path BLOB NOT NULL,
  operation INTEGER REFERENCES operation(id), -- NULL: an agent's edit in the editor
  disk BLOB NOT NULL,                 -- image
  wanted BLOB NOT NULL,               -- image
  editor TEXT NOT NULL,
  pid INTEGER NOT NULL,
  time INTEGER NOT NULL,
  UNIQUE (root, path)
);

-- What one process asks an editor to carry out.
CREATE TABLE request (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  editor INTEGER NOT NULL REFERENCES editor(id),
  kind TEXT NOT NULL,
  args TEXT NOT NULL,                 -- JSON
  fingerprint TEXT NOT NULL,          -- of the plan as far as it is about files
  made INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  state TEXT NOT NULL,                -- waiting, taken, running, answered, withdrawn
  answer TEXT                         -- JSON
);
CREATE INDEX request_editor ON request(editor) WHERE state = 'waiting';
