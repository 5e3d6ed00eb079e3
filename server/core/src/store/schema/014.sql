-- Version 14: the changes that the user has reviewed. A row says: after this change of the file, at this node of this
-- branch, the user had accepted this state. The newest row on the branch's chain counts.
-- Without references to nodes and changes, which `gc` may squash: their numbers alone are compared.

CREATE TABLE reviewed (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL REFERENCES file(id),
  branch INTEGER NOT NULL,
  node INTEGER NOT NULL,
  change INTEGER NOT NULL,            -- 0: taken back, nothing is reviewed
  path BLOB, image BLOB,              -- NULL: absent
  earlier INTEGER,                    -- the row that counts again when this one is taken back
  time INTEGER NOT NULL
);
CREATE INDEX reviewed_file ON reviewed(file, id);
