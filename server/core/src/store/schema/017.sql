-- Version 17: the part of its target that a restore was limited to, as JSON; empty: all of it.

ALTER TABLE operation ADD COLUMN limits TEXT NOT NULL DEFAULT '';
