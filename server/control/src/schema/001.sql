-- Version 1. Never edited once released: a change is a new numbered file.
-- Times are microseconds since 1970 UTC. A session is named by its agent and the agent's own id of it: this database
-- knows no row of the store.

CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE breakpoint (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  spec TEXT NOT NULL,                 -- JSON: the kind and its parameters
  moment TEXT NOT NULL,               -- before, after
  scope TEXT NOT NULL,                -- JSON
  condition TEXT,                     -- jq
  hits_when TEXT,                     -- >= 3
  action TEXT NOT NULL,               -- pause, log, deny
  message TEXT,
  once INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  unattended TEXT,                    -- ask, hold, deny, allow; NULL: the setting
  made_by TEXT NOT NULL,
  created INTEGER NOT NULL,
  problem TEXT                        -- the last failure of its condition
);

-- The text in which the lines of a `line` breakpoint were set, by which they follow edits.
CREATE TABLE region (
  breakpoint INTEGER PRIMARY KEY REFERENCES breakpoint(id) ON DELETE CASCADE,
  path BLOB NOT NULL,
  base BLOB NOT NULL                  -- zstd
);

-- Each trigger. Its breakpoint may be gone.
CREATE TABLE hit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  breakpoint INTEGER NOT NULL,
  kind TEXT NOT NULL,
  action TEXT NOT NULL,
  pause INTEGER,
  time INTEGER NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  subagent TEXT,
  turn INTEGER,
  iteration INTEGER,
  tool TEXT NOT NULL,
  call TEXT,
  why TEXT NOT NULL,
  text TEXT                           -- of a log point
);
CREATE INDEX hit_time ON hit(time);

CREATE TABLE pause (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  breakpoint INTEGER,
  why TEXT NOT NULL,
  root BLOB NOT NULL,
  agent TEXT NOT NULL,
  session TEXT NOT NULL,
  subagent TEXT,
  turn INTEGER,
  prompt TEXT,
  iteration INTEGER,
  tool TEXT NOT NULL,
  call TEXT NOT NULL,                 -- the agent's own id, or thread and input where it has none
  moment TEXT NOT NULL,
  input BLOB NOT NULL,                -- JSON, zstd
  input_hash BLOB NOT NULL,
  cwd BLOB,
  files TEXT NOT NULL,                -- JSON: the paths that the call names
  can TEXT NOT NULL,                  -- JSON: the decisions that the agent can be told
  holder TEXT NOT NULL,               -- pid and start time of the hook
  agent_process TEXT,                 -- pid and start time of the agent
  until INTEGER,                      -- the agent's own limit
  made INTEGER NOT NULL,
  state TEXT NOT NULL,
  decision TEXT,                      -- JSON
  decided_by TEXT,
  decided INTEGER,
  outcome TEXT,
  ended INTEGER
);
CREATE INDEX pause_open ON pause(state) WHERE state IN ('held','decided','parked');
CREATE INDEX pause_call ON pause(agent, session, call, moment);
CREATE INDEX pause_input ON pause(agent, session, tool, input_hash) WHERE state = 'parked';

-- A face that has shown a pause to a person.
CREATE TABLE ack (
  pause INTEGER NOT NULL REFERENCES pause(id) ON DELETE CASCADE,
  face TEXT NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (pause, face)
) WITHOUT ROWID;

-- Texts that wait for the next event of a session which can carry them to the model.
CREATE TABLE message (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent TEXT,
  session TEXT,
  text TEXT NOT NULL,
  made INTEGER NOT NULL,
  taken INTEGER
);
CREATE INDEX message_waiting ON message(session) WHERE taken IS NULL;

-- Each command given to a session.
CREATE TABLE command (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time INTEGER NOT NULL,
  face TEXT NOT NULL,
  agent TEXT,
  session TEXT,
  pause INTEGER,
  name TEXT NOT NULL,
  args TEXT NOT NULL                  -- JSON
);
