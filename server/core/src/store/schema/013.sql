-- Version 13: the machine that an operation was begun on. Another one does not carry its journal out.
-- NULL: written before, or without a state directory.

ALTER TABLE operation ADD COLUMN machine TEXT;
