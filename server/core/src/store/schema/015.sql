-- Version 15: the lines that the user kept, as two contents: the file without these changes, and with them. A comparison
-- with any checkpoint takes the same lines over. NULL: the whole file.

ALTER TABLE reviewed ADD COLUMN kept_from BLOB;
ALTER TABLE reviewed ADD COLUMN kept_to BLOB;
