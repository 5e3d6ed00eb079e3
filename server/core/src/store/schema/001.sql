-- Version 1. Never edited once released: a change is a new numbered file.
-- Times are microseconds since 1970 UTC. Paths are bytes relative to the root.

CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- A content: inline, or in a pack file; raw, zstd, or zstd against another content.
CREATE TABLE blob (
  n INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  coding INTEGER NOT NULL,            -- 0 raw, 1 zstd, 2 zstd with base as prefix
  base INTEGER REFERENCES blob(n),
  pos INTEGER NOT NULL DEFAULT 0,     -- which version of its chain; the base is pos without its lowest set bit
  data BLOB,                          -- NULL: in the pack
  pack TEXT, at INTEGER, len INTEGER
);

CREATE TABLE root (
  id INTEGER PRIMARY KEY,
  path BLOB NOT NULL UNIQUE,
  branch INTEGER REFERENCES branch(id),
  generation INTEGER NOT NULL DEFAULT 0,
  scanned INTEGER,                    -- time of the last whole scan; NULL: none yet
  bare_dirs BLOB,                     -- directories without a known file at that scan, NUL-separated
  excludes TEXT,                      -- JSON: the rules outside the tree at that scan
  pending INTEGER NOT NULL DEFAULT 0, -- a scan ran out of time and goes on elsewhere
  coverage TEXT NOT NULL DEFAULT '{"captured":0,"ignored":0,"items":[]}'
);

CREATE TABLE branch (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  head INTEGER REFERENCES node(id),
  parent INTEGER REFERENCES branch(id),
  fork_point INTEGER REFERENCES node(id),
  created INTEGER NOT NULL,
  description TEXT
);

CREATE TABLE tag (
  name TEXT PRIMARY KEY,
  node INTEGER NOT NULL REFERENCES node(id),
  created INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  native TEXT NOT NULL,
  transcript TEXT,
  started INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  iterations INTEGER NOT NULL DEFAULT 0,
  background INTEGER NOT NULL DEFAULT 0, -- shell commands of it still run
  UNIQUE (agent, native)
);

CREATE TABLE turn (
  id INTEGER PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  session INTEGER NOT NULL REFERENCES session(id),
  prompt TEXT NOT NULL,
  node INTEGER NOT NULL REFERENCES node(id),
  started INTEGER NOT NULL
);
CREATE INDEX turn_session ON turn(session);

-- The agent's own ids of turns; a synthetic prompt's id leads to the turn it continues.
CREATE TABLE prompt (
  session INTEGER NOT NULL REFERENCES session(id),
  native TEXT NOT NULL,
  turn INTEGER NOT NULL REFERENCES turn(id),
  PRIMARY KEY (session, native)
) WITHOUT ROWID;

-- A tool call, open while `closed` is NULL.
CREATE TABLE call (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session(id),
  turn INTEGER REFERENCES turn(id),
  native TEXT NOT NULL,
  subagent TEXT,
  tool TEXT NOT NULL,
  effect INTEGER NOT NULL,            -- 0 reads, 1 names paths, 2 may write anything
  iteration INTEGER NOT NULL,
  input INTEGER REFERENCES blob(n),
  grp INTEGER REFERENCES call(id),
  opened INTEGER NOT NULL,
  opened_seq INTEGER NOT NULL,
  closed INTEGER,
  closed_seq INTEGER,
  outcome INTEGER                     -- 0 done, 1 failed, 2 no "after" event
);
CREATE UNIQUE INDEX call_native ON call(session, native);
CREATE INDEX call_open ON call(session) WHERE closed IS NULL;

-- A path that a call names, with its image before.
CREATE TABLE reserved (
  call INTEGER NOT NULL REFERENCES call(id),
  path BLOB NOT NULL,
  image BLOB NOT NULL,
  made_dirs INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (call, path)
) WITHOUT ROWID;
CREATE INDEX reserved_path ON reserved(path);

CREATE TABLE event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  time INTEGER NOT NULL,
  session INTEGER REFERENCES session(id),
  turn INTEGER REFERENCES turn(id),
  call INTEGER REFERENCES call(id),
  subagent TEXT,
  name TEXT NOT NULL
);

-- A node of the history: the state after its own changes. Those of a branch are one chain, in the order
-- of their numbers.
CREATE TABLE node (
  id INTEGER PRIMARY KEY,
  parent INTEGER REFERENCES node(id),
  depth INTEGER NOT NULL,
  kind TEXT NOT NULL,
  branch INTEGER NOT NULL REFERENCES branch(id),
  root INTEGER NOT NULL REFERENCES root(id),
  session INTEGER REFERENCES session(id),
  turn INTEGER REFERENCES turn(id),
  call INTEGER REFERENCES call(id),
  label TEXT,
  time INTEGER NOT NULL,
  git_head TEXT,
  git_branch TEXT,
  coverage TEXT
);
CREATE INDEX node_turn ON node(turn) WHERE turn IS NOT NULL;
CREATE INDEX node_session ON node(session) WHERE session IS NOT NULL;
CREATE INDEX node_label ON node(label) WHERE label IS NOT NULL;
CREATE INDEX node_parent ON node(parent);
CREATE INDEX node_branch ON node(branch);

-- A file's identity. `since`: the node at which it was first known; NULL: known from the start,
-- or known to have been absent.
CREATE TABLE file (
  id INTEGER PRIMARY KEY,
  since INTEGER REFERENCES node(id)
);

-- One file in one node.
CREATE TABLE change (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  node INTEGER NOT NULL REFERENCES node(id),
  file INTEGER NOT NULL REFERENCES file(id),
  role INTEGER NOT NULL,              -- 0 an edit, 1 the effect of a restore
  before_path BLOB, before_image BLOB,
  after_path BLOB, after_image BLOB,
  session INTEGER REFERENCES session(id),
  call INTEGER REFERENCES call(id),
  session_certainty INTEGER NOT NULL,
  step_certainty INTEGER NOT NULL,
  provisional INTEGER NOT NULL DEFAULT 0, -- found while its call was open: sure once that call reports
  made_dirs INTEGER NOT NULL DEFAULT 0,
  set_after BLOB NOT NULL             -- hash of the set in force after it
);
CREATE INDEX change_node ON change(node);
CREATE INDEX change_file ON change(file, id);
CREATE INDEX change_path ON change(after_path);

-- What a restore took out of the set in force (-1) and put back (+1).
CREATE TABLE moved (
  change INTEGER NOT NULL REFERENCES change(id),
  member INTEGER NOT NULL REFERENCES change(id),
  sign INTEGER NOT NULL,
  PRIMARY KEY (change, member)
) WITHOUT ROWID;
CREATE INDEX moved_member ON moved(member);

-- Every state of a file that was ever recorded, by the set in force that it has.
CREATE TABLE version (
  file INTEGER NOT NULL REFERENCES file(id),
  set_hash BLOB NOT NULL,
  path BLOB, image BLOB,              -- NULL: absent
  PRIMARY KEY (file, set_hash)
) WITHOUT ROWID;

-- What is known to be on disk at a root: the state of its head, and what spares reading it again.
CREATE TABLE file_state (
  root INTEGER NOT NULL REFERENCES root(id),
  path BLOB NOT NULL,
  image BLOB NOT NULL,
  file INTEGER REFERENCES file(id),   -- NULL: never changed
  since INTEGER REFERENCES node(id),  -- first known at this node; NULL: from the start
  generation INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
  btime INTEGER NOT NULL, dev INTEGER NOT NULL, inode INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  racy INTEGER NOT NULL,
  PRIMARY KEY (root, path)
) WITHOUT ROWID;

-- Which file a path now absent belonged to, so that its identity returns with it.
CREATE TABLE gone (
  root INTEGER NOT NULL REFERENCES root(id),
  path BLOB NOT NULL,
  file INTEGER NOT NULL REFERENCES file(id),
  PRIMARY KEY (root, path)
) WITHOUT ROWID;

CREATE INDEX gone_file ON gone(file);

CREATE TABLE operation (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,                 -- rewind, revert, undo, redo
  root INTEGER NOT NULL REFERENCES root(id),
  branch INTEGER NOT NULL REFERENCES branch(id),
  of INTEGER REFERENCES operation(id),-- what an undo or redo is about
  target TEXT NOT NULL,
  node INTEGER REFERENCES node(id),
  time INTEGER NOT NULL,
  state TEXT NOT NULL,                -- open, backwards, recorded; done, incomplete, rolled back
  detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX operation_open ON operation(root) WHERE state IN ('open', 'backwards', 'recorded');
CREATE INDEX operation_node ON operation(node);

-- The files of an operation under way, and after it for the record.
CREATE TABLE journal_file (
  operation INTEGER NOT NULL REFERENCES operation(id),
  file INTEGER NOT NULL REFERENCES file(id),
  before_path BLOB, before_image BLOB,
  after_path BLOB, after_image BLOB,
  as_user INTEGER NOT NULL,
  taken_out TEXT NOT NULL, put_back TEXT NOT NULL, -- JSON arrays of change ids
  PRIMARY KEY (operation, file)
) WITHOUT ROWID;

-- The paths of an operation under way.
CREATE TABLE journal (
  operation INTEGER NOT NULL REFERENCES operation(id),
  path BLOB NOT NULL,
  before BLOB NOT NULL, after BLOB NOT NULL,
  made_dirs INTEGER NOT NULL,         -- before: directories to remove with it
  temp TEXT NOT NULL,
  state TEXT NOT NULL,                -- planned, left
  detail TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (operation, path)
) WITHOUT ROWID;
