-- Safe to run again, as the scripts before it. Of the functions before it only holdfast_take_lock and holdfast_locks_of are called by
-- now: the others stay for instances of the version before, until a version that may not run beside them.

-- Stores a group that was decided outside, if what it rests on is true: takes the lock that makes all groups serial, then looks.
-- The instance that decided may have assumed all of it, so that a whole group is this one call; or has read it, under the same lock.
--
-- known_revision: the newest one that the instance knew. It counted its new tokens from there on; they are stored as counted from
--   the one that is the newest in truth.
-- decided_at: the time of the decision; clock_then: what the database's clock showed then, or would have; max_age_ms: the decision
--   must not be older than this by that clock (null: it may be of any age).
-- max_delay_ms: by so much later it would have been the same, but for the times. It is stored at the time that the log has come to,
--   if that is later than its own: whatever counts from the time of the decision is counted from there.
-- announce: whether to tell whoever listens.
-- assumed_*: the rows that there are (revision 0: there is none), where that was assumed. (A database that lost its newest changes
--   may have given the same revision to another owner.)
-- request_*: requests that have acquired nothing since remembered_since, where that was assumed.
-- group_id: what the instance calls the group, by which it finds it again. event_*: the group's events, in their order. row_changes: what the last event of a resource makes of its row (null: nothing):
--   'insert' and 'update' make it what the event says, with row_ttls_ms and row_reacquireds; 'delete' removes it.
--
-- Returns whether it was stored, the newest revision before it, the time at which it was, and the database's clock.
CREATE OR REPLACE FUNCTION holdfast_store_group(
  expected_log_id text, known_revision bigint, decided_at bigint, clock_then bigint, max_age_ms integer, max_delay_ms integer,
  lock_timeout_ms integer, announce boolean,
  assumed_resources text[], assumed_revisions bigint[], assumed_owners text[],
  request_ids text[], request_resources text[], request_owners text[], remembered_since bigint,
  group_id bigint, event_types text[], event_ats bigint[], event_resources text[], event_owners text[], event_tokens bigint[],
  event_acquired_ats bigint[], event_expires_ats bigint[], event_request_ids text[], event_metadatas text[], event_moves_expiry boolean[],
  row_changes text[], row_ttls_ms integer[], row_reacquireds boolean[],
  OUT stored boolean, OUT revision bigint, OUT written_at bigint, OUT read_at bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  clock lock_clock;
  shift bigint;
  delay bigint;
  advanced bigint;
BEGIN
  -- All of it ends with the transaction. Every statement below is planned once in a session: to plan them takes longer than to
  -- run them. Rows are looked up one by one, however small the table was then: only so, an index forgets the versions of a row
  -- that are gone as soon as one meets them.
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true), set_config('synchronous_commit', 'on', true),
          set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
          set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
  SELECT * INTO clock FROM lock_clock AS c WHERE c.id = 1 FOR UPDATE;
  read_at := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  revision := clock.revision;
  written_at := greatest(clock.at, decided_at);
  delay := written_at - decided_at;
  shift := clock.revision - known_revision;
  stored := clock.log_id = expected_log_id AND shift >= 0 AND delay <= max_delay_ms
    AND read_at >= clock_then AND coalesce(read_at - clock_then <= max_age_ms, true);
  IF stored AND cardinality(assumed_resources) > 0 THEN
    stored := NOT EXISTS (
      SELECT FROM unnest(assumed_resources, assumed_revisions, assumed_owners) AS assumed(resource, revision, owner)
        LEFT JOIN LATERAL (SELECT l.revision, l.owner FROM distributed_locks AS l WHERE l.resource = assumed.resource) AS found ON true
       WHERE coalesce(found.revision, 0) <> assumed.revision OR found.owner IS DISTINCT FROM assumed.owner);
  END IF;
  IF stored AND cardinality(request_ids) > 0 THEN
    stored := NOT EXISTS (
      SELECT FROM unnest(request_ids, request_resources, request_owners) AS request(id, resource, owner)
       WHERE EXISTS (SELECT FROM lock_events AS e
                      WHERE e.request_id = request.id AND e.resource = request.resource AND e.owner = request.owner
                        AND e.type = 'ACQUIRED' AND e.written_at >= remembered_since));
  END IF;
  IF NOT stored THEN
    RETURN;
  END IF;

  advanced := clock.revision + cardinality(event_types);
  UPDATE lock_clock AS c SET revision = advanced, at = holdfast_store_group.written_at WHERE c.id = 1;
  IF announce THEN
    PERFORM pg_notify('holdfast_log', advanced::text);
  END IF;
  IF 'insert' = ANY (row_changes) THEN
    INSERT INTO distributed_locks (resource, owner, fencing_token, revision, acquired_at, expires_at, ttl_ms, request_id, reacquired,
                                   metadata, expiry_recorded)
    SELECT e.resource, e.owner, e.token + CASE WHEN e.token > known_revision THEN shift ELSE 0 END, clock.revision + e.n,
           e.acquired_at + CASE WHEN e.token > known_revision THEN delay ELSE 0 END,
           e.expires_at + CASE WHEN e.moves_expiry THEN delay ELSE 0 END,
           e.ttl_ms, e.request_id, e.reacquired, e.metadata, e.type = 'EXPIRED'
      FROM unnest(event_types, event_resources, event_owners, event_tokens, event_acquired_ats, event_expires_ats,
                  event_request_ids, event_metadatas, event_moves_expiry, row_changes, row_ttls_ms, row_reacquireds) WITH ORDINALITY
        AS e(type, resource, owner, token, acquired_at, expires_at, request_id, metadata, moves_expiry, change, ttl_ms, reacquired, n)
     WHERE e.change = 'insert';
  END IF;
  IF 'update' = ANY (row_changes) THEN
    -- A row that is claimed, acquired again or renewed keeps its id.
    UPDATE distributed_locks AS l SET
           owner = e.owner, fencing_token = e.token + CASE WHEN e.token > known_revision THEN shift ELSE 0 END,
           revision = clock.revision + e.n,
           acquired_at = e.acquired_at + CASE WHEN e.token > known_revision THEN delay ELSE 0 END,
           expires_at = e.expires_at + CASE WHEN e.moves_expiry THEN delay ELSE 0 END,
           ttl_ms = e.ttl_ms, request_id = e.request_id, reacquired = e.reacquired, metadata = e.metadata,
           expiry_recorded = e.type = 'EXPIRED'
      FROM unnest(event_types, event_resources, event_owners, event_tokens, event_acquired_ats, event_expires_ats,
                  event_request_ids, event_metadatas, event_moves_expiry, row_changes, row_ttls_ms, row_reacquireds) WITH ORDINALITY
        AS e(type, resource, owner, token, acquired_at, expires_at, request_id, metadata, moves_expiry, change, ttl_ms, reacquired, n)
     WHERE e.change = 'update' AND l.resource = e.resource;
  END IF;
  IF 'delete' = ANY (row_changes) THEN
    DELETE FROM distributed_locks AS l USING unnest(event_resources, row_changes) AS e(resource, change)
     WHERE e.change = 'delete' AND l.resource = e.resource;
  END IF;
  INSERT INTO lock_events (segment, revision, type, at, written_at, resource, owner, fencing_token, acquired_at, expires_at,
                           request_id, metadata, group_id)
  SELECT (clock.revision + e.n) / 4096, clock.revision + e.n, e.type, e.at + CASE WHEN e.type = 'EXPIRED' THEN 0 ELSE delay END,
         holdfast_store_group.written_at, e.resource, e.owner, e.token + CASE WHEN e.token > known_revision THEN shift ELSE 0 END,
         e.acquired_at + CASE WHEN e.token > known_revision THEN delay ELSE 0 END,
         e.expires_at + CASE WHEN e.moves_expiry THEN delay ELSE 0 END, e.request_id, e.metadata,
         CASE WHEN e.n = 1 THEN holdfast_store_group.group_id END
    FROM unnest(event_types, event_ats, event_resources, event_owners, event_tokens, event_acquired_ats, event_expires_ats,
                event_request_ids, event_metadatas, event_moves_expiry) WITH ORDINALITY
      AS e(type, at, resource, owner, token, acquired_at, expires_at, request_id, metadata, moves_expiry, n);
END $$;

-- The rows of these resources, looked up in the same way.
CREATE OR REPLACE FUNCTION holdfast_locks_of(resources text[]) RETURNS SETOF distributed_locks
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true);
  RETURN QUERY SELECT * FROM distributed_locks WHERE resource = ANY (resources);
END $$;
