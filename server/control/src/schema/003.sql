-- REPLs at pauses, and programs that pause.

ALTER TABLE pause ADD COLUMN by TEXT NOT NULL DEFAULT 'call';  -- call, program
ALTER TABLE pause ADD COLUMN process INTEGER;                   -- the program
ALTER TABLE pause ADD COLUMN function_call INTEGER;             -- its call
ALTER TABLE pause ADD COLUMN stack TEXT;                        -- JSON: the frames of the program, outermost first
ALTER TABLE pause ADD COLUMN draft TEXT;                        -- JSON: the input as the user changed it

-- A program that is, or was, connected.
CREATE TABLE process (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,           -- by the program's own clock
  argv TEXT NOT NULL,                 -- JSON
  language TEXT NOT NULL,
  cwd TEXT NOT NULL,
  connected INTEGER NOT NULL,
  ended INTEGER,
  UNIQUE (pid, started)
);

-- A call of a function that a program watches.
CREATE TABLE function_call (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  process INTEGER NOT NULL REFERENCES process(id) ON DELETE CASCADE,
  parent INTEGER,
  function TEXT NOT NULL,
  kind TEXT NOT NULL,                 -- inline, proxy
  thread TEXT NOT NULL,
  args TEXT NOT NULL,                 -- JSON: bounded views
  started INTEGER NOT NULL,
  ended INTEGER,
  outcome TEXT,                       -- returned, raised, skipped
  result TEXT                         -- JSON: a bounded view
);
CREATE INDEX function_call_process ON function_call(process, id);

-- A REPL at a pause.
CREATE TABLE repl_session (
  id TEXT PRIMARY KEY,                -- <pid>-<seconds>.<microseconds>
  pause INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  process INTEGER,
  function TEXT NOT NULL,
  call INTEGER,
  language TEXT NOT NULL,
  started INTEGER NOT NULL,
  closed INTEGER,
  reason TEXT                         -- of its end
) WITHOUT ROWID;
CREATE INDEX repl_session_started ON repl_session(started);
CREATE INDEX repl_session_pause ON repl_session(pause);
CREATE INDEX repl_session_call ON repl_session(call) WHERE call IS NOT NULL;

-- An input and its output, in the order of a session.
CREATE TABLE exchange (
  id INTEGER PRIMARY KEY,
  session TEXT NOT NULL REFERENCES repl_session(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  input TEXT NOT NULL,
  output TEXT NOT NULL,               -- the error, else the value
  stdout TEXT NOT NULL,
  is_error INTEGER NOT NULL,
  cid TEXT,
  time INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  UNIQUE (session, number)
);
CREATE VIRTUAL TABLE exchange_words USING fts5 (
  words, content = '', contentless_delete = 1, tokenize = 'trigram'
);

-- An input that waits for its evaluation.
CREATE TABLE eval_request (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pause INTEGER NOT NULL,
  session TEXT NOT NULL REFERENCES repl_session(id) ON DELETE CASCADE,
  expression TEXT NOT NULL,
  timeout INTEGER NOT NULL,           -- milliseconds
  made INTEGER NOT NULL,
  taken INTEGER,
  state TEXT NOT NULL,                -- waiting, taken, answered, timed_out, withdrawn
  exchange INTEGER                    -- number of the answer in the session
);
CREATE INDEX eval_request_open ON eval_request(pause, id) WHERE state IN ('waiting','taken');

-- Values that programs gave, by the hash of their bytes. They are never interpreted here.
CREATE TABLE object (
  cid TEXT PRIMARY KEY,               -- sha256:<hash>
  size INTEGER NOT NULL,
  bytes BLOB NOT NULL,                -- zstd
  view TEXT NOT NULL,                 -- JSON: type, repr, length, fields
  made INTEGER NOT NULL
) WITHOUT ROWID;
