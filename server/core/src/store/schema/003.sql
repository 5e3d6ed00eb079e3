-- Version 3: a switch back takes out what the switch had carried.

-- What an operation that leads to another branch takes out on the one that it leaves: no path on disk is
-- involved. As `journal_file`.
CREATE TABLE journal_left (
  operation INTEGER NOT NULL REFERENCES operation(id),
  file INTEGER NOT NULL REFERENCES file(id),
  before_path BLOB, before_image BLOB,
  after_path BLOB, after_image BLOB,
  as_user INTEGER NOT NULL,
  taken_out TEXT NOT NULL, put_back TEXT NOT NULL,
  PRIMARY KEY (operation, file)
) WITHOUT ROWID;

-- The node that such an operation made, on the one branch or the other.
ALTER TABLE operation ADD COLUMN made INTEGER REFERENCES node(id);
CREATE INDEX operation_made ON operation(made) WHERE made IS NOT NULL;
