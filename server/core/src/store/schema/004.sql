-- Directories that lost their branch.

-- Where a root stood that has no branch any more, and on which: it goes on from there when its directory comes back.
ALTER TABLE root ADD COLUMN stood INTEGER REFERENCES node(id);
ALTER TABLE root ADD COLUMN was INTEGER REFERENCES branch(id);
