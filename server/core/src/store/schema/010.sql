-- Version 10: what a hook asks for is found without a look at everything that ever happened.

-- Calls that may have written, by their end: who was at work since then.
CREATE INDEX call_closed ON call(closed_seq) WHERE closed_seq IS NOT NULL AND effect > 0;
-- Calls that ran side by side; most are in no group.
CREATE INDEX call_group ON call(grp) WHERE grp IS NOT NULL;
-- What is not sure until its call ends.
CREATE INDEX change_provisional ON change(call) WHERE provisional = 1;
CREATE INDEX session_background ON session(root) WHERE background > 0;

-- Who has reserved a path is asked of the few calls that are open.
DROP INDEX reserved_path;
