-- Version 12: what decides what a restore does has a sum of its own (CRC-32), so that a row that rots is not believed.
-- NULL: written before.

ALTER TABLE change ADD COLUMN sum INTEGER;  -- node, file, role, both states, set_after
ALTER TABLE version ADD COLUMN sum INTEGER; -- all of it
