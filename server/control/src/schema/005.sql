-- The subject of a pause, which its id told before: `proposal/…`, `applyEdit-…`. An id that is made of thread, tool and input
-- began with a tilde.

UPDATE pause SET by = 'proposal' WHERE by = 'call' AND call GLOB 'proposal/*';
UPDATE pause SET by = 'edit' WHERE by = 'call' AND call GLOB 'applyEdit-*';
ALTER TABLE pause ADD COLUMN made_id INTEGER NOT NULL DEFAULT 0;  -- the agent gave the call no id
UPDATE pause SET made_id = 1 WHERE by = 'call' AND call GLOB '~*';
