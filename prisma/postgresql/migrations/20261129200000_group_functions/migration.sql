-- What a group of commands says to the database. As functions, whose plans a session keeps: to plan these statements takes
-- longer than to run them. (Statements that the client prepares would be lost by a pooler.) A plan that was made while a table
-- was small must not read all of it once it has grown: no sequential scans.

-- Takes the lock that makes all groups serial, over all instances: the one row of lock_clock. Then reads the time, by the
-- clock as it is now: now() would be the beginning of the transaction, older than the wait for the lock.
CREATE OR REPLACE FUNCTION holdfast_take_lock(lock_timeout_ms integer, idle_timeout_ms integer)
RETURNS TABLE (log_id text, revision bigint, oldest_revision bigint, at bigint, read_at bigint, transaction_id text)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
  -- All of it ends with the transaction.
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true),
          set_config('idle_in_transaction_session_timeout', idle_timeout_ms::text, true),
          set_config('synchronous_commit', 'on', true);
  SELECT c.log_id, c.revision, c.oldest_revision, c.at FROM lock_clock AS c WHERE c.id = 1 FOR UPDATE
    INTO holdfast_take_lock.log_id, holdfast_take_lock.revision, holdfast_take_lock.oldest_revision, holdfast_take_lock.at;
  read_at := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  transaction_id := pg_current_xact_id()::xid::text;
  RETURN NEXT;
END $$;

-- The rows of these resources (a JSON array of names). A statement of its own, behind the lock: so it sees all that was
-- committed before.
CREATE OR REPLACE FUNCTION holdfast_locks_of(resources json) RETURNS SETOF distributed_locks
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT * FROM distributed_locks WHERE resource = ANY (ARRAY(SELECT json_array_elements_text(resources)));
END $$;

-- Stores a group and notifies whoever listens, or does nothing and returns false where it is later than not_after (epoch
-- milliseconds; null: it is never too late). Lists are null where there is nothing in them.
CREATE OR REPLACE FUNCTION holdfast_store(new_revision bigint, new_at bigint, not_after bigint, kept json, gone json, events json)
RETURNS boolean
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
BEGIN
  IF floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint > not_after THEN
    RETURN false;
  END IF;
  UPDATE lock_clock SET revision = new_revision, at = new_at WHERE id = 1;
  -- A row that is claimed, acquired again or renewed keeps its id.
  IF kept IS NOT NULL THEN
    INSERT INTO distributed_locks (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired,
                                   metadata, expiry_recorded)
    SELECT * FROM json_to_recordset(kept) AS l(resource text, owner text, fencing_token bigint, revision bigint, acquired_at bigint,
                                               expires_at bigint, ttl_ms integer, request_id text, reacquired boolean, metadata text,
                                               expiry_recorded boolean)
    ON CONFLICT (resource) DO UPDATE SET
      owner = EXCLUDED.owner, fencing_token = EXCLUDED.fencing_token, revision = EXCLUDED.revision, acquired_at = EXCLUDED.acquired_at,
      expires_at = EXCLUDED.expires_at, ttl_ms = EXCLUDED.ttl_ms, request_id = EXCLUDED.request_id, reacquired = EXCLUDED.reacquired,
      metadata = EXCLUDED.metadata, expiry_recorded = EXCLUDED.expiry_recorded;
  END IF;
  IF gone IS NOT NULL THEN
    DELETE FROM distributed_locks WHERE resource = ANY (ARRAY(SELECT json_array_elements_text(gone)));
  END IF;
  IF events IS NOT NULL THEN
    INSERT INTO lock_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at,
                             request_id, metadata)
    SELECT * FROM json_to_recordset(events) AS e(segment bigint, revision bigint, type text, at bigint, written_at bigint,
                                                 resource text, owner text, fencing_token bigint, acquired_at bigint,
                                                 expires_at bigint, request_id text, metadata text);
  END IF;
  PERFORM pg_notify('holdfast_log', new_revision::text);
  RETURN true;
END $$;
