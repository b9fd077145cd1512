BEGIN;
-- A token is the revision of its ACQUIRED event, which names the resource: an index of its own costs more than it finds.
DROP INDEX IF EXISTS "lock_events_segment_fencing_token_revision_idx";
COMMIT;
