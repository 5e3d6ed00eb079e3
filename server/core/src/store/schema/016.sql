-- Version 16: the time of the prompt that a session works on, in microseconds since 1970; NULL: its last turn has ended.
-- The exit status of a shell command, where the agent reports it.

ALTER TABLE session ADD COLUMN working INTEGER;
ALTER TABLE call ADD COLUMN exit INTEGER;
