-- Version 19: directories. Those of a root that its files alone do not tell, and what a restore does to directories, as JSON;
-- empty: nothing.

ALTER TABLE root ADD COLUMN directories TEXT;
ALTER TABLE operation ADD COLUMN directories TEXT NOT NULL DEFAULT '';
