-- Directories that lost their branch, or moved.

-- Where a root stood that has no branch any more, and on which: it goes on from there when its directory comes back.
ALTER TABLE root ADD COLUMN stood INTEGER REFERENCES node(id);
ALTER TABLE root ADD COLUMN was INTEGER REFERENCES branch(id);

-- Which directory it is, wherever it is: its inode and its time of birth. NULL: not known.
ALTER TABLE root ADD COLUMN inode INTEGER;
ALTER TABLE root ADD COLUMN btime INTEGER;
