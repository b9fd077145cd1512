-- Safe to run again, as the scripts before it.

-- A token is the revision of its ACQUIRED event, which names the resource: an index of its own costs more than it finds.
DROP INDEX IF EXISTS "lock_events_segment_fencing_token_revision_idx";

-- Rows are looked up one by one: only so, an index forgets the versions of a row that are gone as soon as one meets them.
ALTER FUNCTION holdfast_locks_of SET enable_bitmapscan = off;

-- Stores a group that was decided outside, if what it rests on is true: takes the lock that makes all groups serial, then looks.
-- The instance that decided may have assumed all of it, so that a whole group is this one call; or has read it, under the same lock.
--
-- known_revision: the newest one that the instance knew. It counted its new tokens and revisions from there on; they are stored as
--   counted from the one that is the newest in truth.
-- decided_at: the time of the decision; clock_then: what the database's clock showed then, or would have; max_age_ms: the decision
--   must not be older than this (null: it may be of any age), neither by that clock nor by the time that the log has come to.
-- assumed_resources, assumed_revisions: the rows that there are (revision 0: there is none), where that was assumed.
-- request_*: requests that have acquired nothing since remembered_since, where that was assumed.
-- lock_*: the rows to write, removed: those to remove, event_*: what to append to the log; of each an element for every row.
--
-- Returns whether it was stored, the newest revision before it, when its events were written (the time of the decision, or the
-- time that the log had come to), and the database's clock.
CREATE OR REPLACE FUNCTION holdfast_store_group(
  expected_log_id text, known_revision bigint, decided_at bigint, clock_then bigint, max_age_ms integer, lock_timeout_ms integer,
  assumed_resources text[], assumed_revisions bigint[],
  request_ids text[], request_resources text[], request_owners text[], remembered_since bigint,
  lock_is_new boolean[], lock_resources text[], lock_owners text[], lock_tokens bigint[], lock_revisions bigint[],
  lock_acquired_ats bigint[], lock_expires_ats bigint[], lock_ttls_ms integer[], lock_request_ids text[],
  lock_reacquireds boolean[], lock_metadatas text[], lock_expiries_recorded boolean[],
  removed text[],
  event_types text[], event_ats bigint[], event_resources text[], event_owners text[], event_tokens bigint[],
  event_acquired_ats bigint[], event_expires_ats bigint[], event_request_ids text[], event_metadatas text[],
  OUT stored boolean, OUT revision bigint, OUT written_at bigint, OUT read_at bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  clock lock_clock;
  shift bigint;
  advanced bigint;
BEGIN
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true), set_config('synchronous_commit', 'on', true);
  SELECT * INTO clock FROM lock_clock AS c WHERE c.id = 1 FOR UPDATE;
  read_at := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  revision := clock.revision;
  written_at := greatest(clock.at, decided_at);
  shift := clock.revision - known_revision;
  stored := clock.log_id = expected_log_id AND shift >= 0 AND read_at >= clock_then
    AND coalesce(read_at - clock_then <= max_age_ms AND clock.at - decided_at <= max_age_ms, true)
    AND NOT EXISTS (
      SELECT FROM unnest(assumed_resources, assumed_revisions) AS assumed(resource, revision)
       WHERE coalesce((SELECT l.revision FROM distributed_locks AS l WHERE l.resource = assumed.resource), 0) <> assumed.revision)
    -- Nothing happened to these locks that the decision knows nothing of, at a time that may be after its own.
    AND (shift = 0 OR NOT EXISTS (
      SELECT FROM generate_series(known_revision / 4096, clock.revision / 4096) AS later(segment), unnest(assumed_resources) AS assumed(resource)
       WHERE EXISTS (SELECT FROM lock_events AS e
                      WHERE e.segment = later.segment AND e.resource = assumed.resource AND e.revision > known_revision)))
    AND NOT EXISTS (
      SELECT FROM unnest(request_ids, request_resources, request_owners) AS request(id, resource, owner)
       WHERE EXISTS (SELECT FROM lock_events AS e
                      WHERE e.request_id = request.id AND e.resource = request.resource AND e.owner = request.owner
                        AND e.type = 'ACQUIRED' AND e.written_at >= remembered_since));
  IF NOT stored THEN
    RETURN;
  END IF;

  advanced := clock.revision + cardinality(event_types);
  UPDATE lock_clock AS c SET revision = advanced, at = holdfast_store_group.written_at WHERE c.id = 1;
  PERFORM pg_notify('holdfast_log', advanced::text);

  IF true = ANY (lock_is_new) THEN
    INSERT INTO distributed_locks (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired,
                                   metadata, expiry_recorded)
    SELECT l.resource, l.owner, l.token + CASE WHEN l.token > known_revision THEN shift ELSE 0 END, l.revision + shift,
           l.acquired_at, l.expires_at, l.ttl_ms, l.request_id, l.reacquired, l.metadata, l.expiry_recorded
      FROM unnest(lock_is_new, lock_resources, lock_owners, lock_tokens, lock_revisions, lock_acquired_ats, lock_expires_ats,
                  lock_ttls_ms, lock_request_ids, lock_reacquireds, lock_metadatas, lock_expiries_recorded)
        AS l(is_new, resource, owner, token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired, metadata,
             expiry_recorded)
     WHERE l.is_new;
  END IF;
  -- A row that is claimed, acquired again or renewed keeps its id.
  IF false = ANY (lock_is_new) THEN
    UPDATE distributed_locks AS d SET
           owner = l.owner, fencing_token = l.token + CASE WHEN l.token > known_revision THEN shift ELSE 0 END,
           revision = l.revision + shift, acquired_at = l.acquired_at, expires_at = l.expires_at, ttl_ms = l.ttl_ms,
           request_id = l.request_id, reacquired = l.reacquired, metadata = l.metadata, expiry_recorded = l.expiry_recorded
      FROM unnest(lock_is_new, lock_resources, lock_owners, lock_tokens, lock_revisions, lock_acquired_ats, lock_expires_ats,
                  lock_ttls_ms, lock_request_ids, lock_reacquireds, lock_metadatas, lock_expiries_recorded)
        AS l(is_new, resource, owner, token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired, metadata,
             expiry_recorded)
     WHERE NOT l.is_new AND d.resource = l.resource;
  END IF;
  IF cardinality(removed) > 0 THEN
    DELETE FROM distributed_locks AS d WHERE d.resource = ANY (removed);
  END IF;
  INSERT INTO lock_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at,
                           request_id, metadata)
  SELECT (clock.revision + e.n) / 4096, clock.revision + e.n, e.type, e.at, holdfast_store_group.written_at, e.resource, e.owner,
         e.token + CASE WHEN e.token > known_revision THEN shift ELSE 0 END, e.acquired_at, e.expires_at, e.request_id, e.metadata
    FROM unnest(event_types, event_ats, event_resources, event_owners, event_tokens, event_acquired_ats, event_expires_ats,
                event_request_ids, event_metadatas) WITH ORDINALITY
      AS e(type, at, resource, owner, token, acquired_at, expires_at, request_id, metadata, n);
END $$;
