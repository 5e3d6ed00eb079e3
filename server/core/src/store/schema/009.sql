-- Version 9: files whose content is git's; looks that need no walk.

-- What git's index was when it was last seen to have every blob that is known of the root. NULL: never.
ALTER TABLE root ADD COLUMN git_index TEXT;

-- The generation at which a walk over the whole tree was last taken in: which list of what it saw still holds. NULL: none.
ALTER TABLE root ADD COLUMN walked INTEGER;

-- Files that came into sight later and never changed: few of many, and every plan asks for them.
CREATE INDEX file_state_since ON file_state(root, since) WHERE file IS NULL AND since IS NOT NULL;
