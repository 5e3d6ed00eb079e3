-- Version 20: conversations. New sessions of agents, which end before a turn of an older one.

CREATE TABLE conversation (
  id INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL REFERENCES turn(id), -- it ends before this turn
  how INTEGER NOT NULL,               -- 0 rewind, 1 fork, 2 summary of the rest, 3 summary of the start
  native TEXT,                        -- the agent's id of the new session; NULL: the agent begins one by itself
  place BLOB,                         -- path of its file; NULL: the agent keeps it, or there is none
  hash BLOB,                          -- of the file as written
  command TEXT NOT NULL,              -- JSON: the command line that opens it
  process TEXT,                       -- the process that makes it; NULL: it is made
  operation INTEGER REFERENCES operation(id), -- the restore of the files that belongs to it
  branch INTEGER REFERENCES branch(id), -- the branch that was created with it
  summary TEXT,                       -- the text in place of a part
  created INTEGER NOT NULL,
  used INTEGER                        -- its first event
);
CREATE INDEX conversation_turn ON conversation(turn);
CREATE INDEX conversation_native ON conversation(native);
