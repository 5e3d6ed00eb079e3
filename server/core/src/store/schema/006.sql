-- Version 6: a recorder that watches spares others the walk over the tree; what a checkpoint is about.

-- Known paths that a walk does not come by, or did not yet: ignored ones that a tool named, files that a
-- restore brought, rows whose stat proves nothing. Whoever does not walk the tree looks at these.
CREATE TABLE stray (
  root INTEGER NOT NULL REFERENCES root(id),
  path BLOB NOT NULL,
  generation INTEGER NOT NULL,        -- of the rows it came with
  PRIMARY KEY (root, path)
) WITHOUT ROWID;

-- 1: a whole walk has filled the table above.
ALTER TABLE root ADD COLUMN strays INTEGER NOT NULL DEFAULT 0;

-- What somebody wrote of a checkpoint made by hand, beside its label.
ALTER TABLE node ADD COLUMN description TEXT;
