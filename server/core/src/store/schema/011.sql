-- Version 11: blob.coding may be 3: a large content, in pieces. `data` has the hashes of its pieces, one after the
-- other; a piece is a content like others.

-- Builds of before had it with version 9, or not yet.
CREATE INDEX IF NOT EXISTS file_state_since ON file_state(root, since) WHERE file IS NULL AND since IS NOT NULL;
