-- Version 7: blame needs to read less.

-- Which lines an edit changed, of its file's text before it: noted when the edit is recorded, or when blame first
-- came by. A cache.
CREATE TABLE hunks (
  change INTEGER PRIMARY KEY REFERENCES change(id),
  lines BLOB NOT NULL                 -- version, lines before and after, then for each hunk: lines kept, removed, added
);
