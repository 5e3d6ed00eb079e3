-- A held call as people see it: the breakpoint that held it, its error, its session, and the author of its changed input.

ALTER TABLE pause ADD COLUMN hit TEXT;       -- JSON: kind, summary and conditions of the breakpoint, as it was then
ALTER TABLE pause ADD COLUMN error TEXT;     -- the error of a call that failed
ALTER TABLE pause ADD COLUMN output TEXT;    -- JSON: the output of a call that has run
ALTER TABLE pause ADD COLUMN letter TEXT;    -- of its session in the history
ALTER TABLE pause ADD COLUMN draft_by TEXT;  -- the front end that changed the input
ALTER TABLE pause ADD COLUMN shown TEXT;     -- JSON: the files that it would write, as they were shown last
