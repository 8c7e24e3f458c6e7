-- Entries of the journal have events for the outside, with the last number that was given until then.
-- Operations are looked for by what they were done to.
CREATE INDEX operations_by_about ON rialto.operations (partition, about, at);
