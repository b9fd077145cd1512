-- What a group of commands says to the database. As functions, whose plans a session keeps: to plan these statements takes
-- longer than to run them. (Statements that the client prepares would be lost by a pooler.) A plan that was made while a table
-- was small must not read all of it once it has grown: no sequential scans.

-- Takes the lock that makes all groups serial, over all instances: the one row of lock_clock. Then reads the time, by the
-- clock as it is now: now() would be the beginning of the transaction, older than the wait for the lock.
CREATE OR REPLACE FUNCTION holdfast_take_lock(lock_timeout_ms integer, idle_timeout_ms integer)
RETURNS TABLE (log_id text, revision bigint, oldest_revision bigint, at bigint, read_at bigint, transaction_id text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  -- All of it ends with the transaction.
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true),
          set_config('idle_in_transaction_session_timeout', idle_timeout_ms::text, true),
          set_config('synchronous_commit', 'on', true),
          set_config('array_nulls', 'on', true);
  SELECT c.log_id, c.revision, c.oldest_revision, c.at INTO log_id, revision, oldest_revision, at
    FROM lock_clock AS c WHERE c.id = 1 FOR UPDATE;
  read_at := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  transaction_id := pg_current_xact_id()::xid::text;
  RETURN NEXT;
END $$;

-- The rows of these resources. A statement of its own, behind the lock: so it sees all that was committed before.
CREATE OR REPLACE FUNCTION holdfast_locks_of(resources text[]) RETURNS SETOF distributed_locks
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT * FROM distributed_locks WHERE resource = ANY (resources);
END $$;

-- Moves revision and time forward and tells whoever listens, unless it is later than not_after (null: never too late).
CREATE OR REPLACE FUNCTION holdfast_advance(new_revision bigint, new_at bigint, not_after bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint > not_after THEN
    RAISE EXCEPTION 'the decision is too old to be stored' USING ERRCODE = 'HF001';
  END IF;
  UPDATE lock_clock SET revision = new_revision, at = new_at WHERE id = 1;
  PERFORM pg_notify('holdfast_log', new_revision::text);
END $$;

-- Writes rows, one for each element of the lists. A row that is claimed, acquired again or renewed keeps its id.
CREATE OR REPLACE FUNCTION holdfast_put_locks(
  resources text[], owners text[], fencing_tokens bigint[], revisions bigint[], acquired_ats bigint[], expires_ats bigint[],
  ttls_ms integer[], request_ids text[], reacquireds boolean[], metadatas text[], expiries_recorded boolean[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO distributed_locks (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired,
                                 metadata, expiry_recorded)
  SELECT * FROM unnest(resources, owners, fencing_tokens, revisions, acquired_ats, expires_ats, ttls_ms, request_ids, reacquireds,
                       metadatas, expiries_recorded)
  ON CONFLICT (resource) DO UPDATE SET
    owner = EXCLUDED.owner, fencing_token = EXCLUDED.fencing_token, revision = EXCLUDED.revision, acquired_at = EXCLUDED.acquired_at,
    expires_at = EXCLUDED.expires_at, ttl_ms = EXCLUDED.ttl_ms, request_id = EXCLUDED.request_id, reacquired = EXCLUDED.reacquired,
    metadata = EXCLUDED.metadata, expiry_recorded = EXCLUDED.expiry_recorded;
END $$;

CREATE OR REPLACE FUNCTION holdfast_remove_locks(resources text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM distributed_locks WHERE resource = ANY (resources);
END $$;

-- Writes events, one for each element of the lists.
CREATE OR REPLACE FUNCTION holdfast_append_events(
  revisions bigint[], types text[], ats bigint[], written_ats bigint[], resources text[], owners text[], fencing_tokens bigint[],
  acquired_ats bigint[], expires_ats bigint[], request_ids text[], metadatas text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO lock_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at,
                           request_id, metadata)
  SELECT e.revision / 4096, e.* FROM unnest(revisions, types, ats, written_ats, resources, owners, fencing_tokens, acquired_ats,
                                            expires_ats, request_ids, metadatas) AS e(revision);
END $$;
