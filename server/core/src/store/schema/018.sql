-- Version 18: the process that reported a session's last event, and if it reported the one before, too; hooks of others in the
-- settings of its agent, which may change files after a call.

ALTER TABLE session ADD COLUMN process TEXT;
ALTER TABLE session ADD COLUMN steady INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN other_hooks INTEGER NOT NULL DEFAULT 0;
