-- Safe to run again, as the script before it.

-- A token is the revision of its ACQUIRED event, which names the resource: an index of its own costs more than it finds. (Who waits
-- for a lock on the whole table has all others wait behind him; so this tries until it gets it.)
DO $$ BEGIN
  LOOP
    BEGIN
      LOCK TABLE lock_events IN ACCESS EXCLUSIVE MODE NOWAIT;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      PERFORM pg_sleep(0.05);
    END;
  END LOOP;
  DROP INDEX IF EXISTS "lock_events_segment_fencing_token_revision_idx";
  -- Of the first event of a group: how the instance that stored it finds it again.
  ALTER TABLE "lock_events" ADD COLUMN IF NOT EXISTS "group_id" BIGINT;
END $$;
