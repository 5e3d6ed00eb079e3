-- A trigger that `hits_when` let pass has a row, too, so that it is not counted again after its call.
ALTER TABLE hit ADD COLUMN acted INTEGER NOT NULL DEFAULT 1;

-- Time at which a person last evaluated something at a held call, or edited its input: the time limit begins anew.
ALTER TABLE pause ADD COLUMN touched INTEGER;
