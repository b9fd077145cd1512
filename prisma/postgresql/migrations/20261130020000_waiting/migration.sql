-- Safe to run again, as the scripts before it.

CREATE TABLE IF NOT EXISTS "lock_waiters" (
    "resource" TEXT COLLATE "C" NOT NULL,
    "ticket" BIGINT NOT NULL,
    "waiter_id" TEXT COLLATE "C" NOT NULL,
    "instance" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "ttl_ms" INTEGER NOT NULL,
    "request_id" TEXT COLLATE "C",
    "metadata" TEXT,
    "resources" TEXT,
    "own_tokens" TEXT,
    "joined_at" BIGINT NOT NULL,
    "deadline" BIGINT NOT NULL,

    CONSTRAINT "lock_waiters_pkey" PRIMARY KEY ("resource", "ticket")
);

CREATE TABLE IF NOT EXISTS "lock_tickets" (
    "id" INTEGER NOT NULL,
    "last" BIGINT NOT NULL,
    "waiting" BIGINT NOT NULL,

    CONSTRAINT "lock_tickets_pkey" PRIMARY KEY ("id")
);

CREATE TABLE IF NOT EXISTS "lock_grants" (
    "revision" BIGINT NOT NULL,
    "waiter_id" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "lock_grants_pkey" PRIMARY KEY ("revision")
);

CREATE TABLE IF NOT EXISTS "lock_instances" (
    "id" TEXT COLLATE "C" NOT NULL,
    "alive_until" BIGINT NOT NULL,

    CONSTRAINT "lock_instances_pkey" PRIMARY KEY ("id")
);

CREATE INDEX IF NOT EXISTS "lock_waiters_owner_request_id_waiter_id_idx" ON "lock_waiters"("owner", "request_id", "waiter_id");

INSERT INTO "lock_tickets" ("id", "last", "waiting")
VALUES (1, 0, 0)
ON CONFLICT ("id") DO NOTHING;

-- Of a session that lives as long as the instance's process does: the advisory lock that it holds. Null: there is none.
ALTER TABLE "lock_instances" ADD COLUMN IF NOT EXISTS "session_key" BIGINT;

-- The same as before, but that nothing is stored on assumptions where somebody stands in line: an instance of the version before,
-- too, asks first then.
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
  places bigint;
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
    -- Of its own: as a part of that, the second question would have to be prepared also where nobody waits.
    SELECT t.waiting INTO places FROM lock_tickets AS t WHERE t.id = 1;
    IF stored AND places > 0 THEN
      stored := NOT EXISTS (SELECT FROM unnest(assumed_resources) AS assumed(resource)
                             WHERE EXISTS (SELECT FROM lock_waiters AS w WHERE w.resource = assumed.resource));
    END IF;
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

-- The instances whose waiters may have their turn: they gave a sign of life that holds beyond that moment, and their process has not
-- ended: a lock that can be had is one whose session is gone. It is given back with the transaction.
CREATE OR REPLACE FUNCTION holdfast_live_instances(moment bigint) RETURNS TABLE (id text, alive_until bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN QUERY
    SELECT i.id, i.alive_until FROM lock_instances AS i
     WHERE i.alive_until > moment AND (i.session_key IS NULL OR NOT pg_try_advisory_xact_lock_shared(i.session_key));
END $$;

-- Who stands in line: a statement of its own, behind the lock. Its first row has the state of lock_tickets alone; nothing else is
-- read where nobody waits at all.
--
-- moment: of the lines and places, only those are told whose turn it may be then.
-- line_resources: the first line_limit of each of these lines, as 'line'. owners: wherever they stand in line, as 'owner'.
-- place_*: these places, as 'named'. call_*: the waiters of that owner and request (null: that waiter), as 'named'. Of all that wait for
-- several resources also the row that tells of them, as 'whole'.
CREATE OR REPLACE FUNCTION holdfast_waiters(
  moment bigint, line_limit integer, line_resources text[], owners text[],
  place_resources text[], place_tickets bigint[], place_waiter_ids text[],
  call_owners text[], call_request_ids text[], call_waiter_ids text[])
RETURNS TABLE (last bigint, waiting bigint, sought text, alive_until bigint, resource text, ticket bigint, waiter_id text,
               instance text, owner text, ttl_ms integer, request_id text, metadata text, resources text, own_tokens text,
               joined_at bigint, deadline bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  SELECT t.last, t.waiting INTO last, waiting FROM lock_tickets AS t WHERE t.id = 1;
  RETURN NEXT;
  IF waiting = 0 THEN
    RETURN;
  END IF;
  -- The answer may be long, and whoever asked may be frozen: nobody waits longer for it than for an idle transaction.
  PERFORM set_config('tcp_user_timeout', current_setting('idle_in_transaction_session_timeout'), true),
          set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
          set_config('enable_mergejoin', 'off', true);
  RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT 'line' AS sought, first.* FROM unnest(line_resources) AS line(resource) CROSS JOIN LATERAL (
          SELECT live.alive_until, l.resource, l.ticket
            FROM lock_waiters AS l JOIN holdfast_live_instances(moment) AS live ON live.id = l.instance
           WHERE l.resource = line.resource AND l.deadline > moment ORDER BY l.ticket LIMIT line_limit) AS first
        UNION ALL
        SELECT 'owner', live.alive_until, l.resource, l.ticket
          FROM lock_waiters AS l JOIN holdfast_live_instances(moment) AS live ON live.id = l.instance
         WHERE l.owner = ANY (owners) AND l.deadline > moment
        UNION ALL
        SELECT 'named', NULL, l.resource, l.ticket
          FROM unnest(place_resources, place_tickets, place_waiter_ids) AS place(resource, ticket, waiter_id)
          JOIN lock_waiters AS l ON l.resource = place.resource AND l.ticket = place.ticket AND l.waiter_id = place.waiter_id
        UNION ALL
        SELECT 'named', NULL, l.resource, l.ticket FROM unnest(call_owners, call_request_ids) AS call(owner, request_id)
          JOIN lock_waiters AS l ON l.owner = call.owner AND l.request_id = call.request_id
        UNION ALL
        SELECT 'named', NULL, l.resource, l.ticket
          FROM unnest(call_owners, call_request_ids, call_waiter_ids) AS call(owner, request_id, waiter_id)
          JOIN lock_waiters AS l ON l.owner = call.owner AND l.request_id IS NULL AND l.waiter_id = call.waiter_id
         WHERE call.request_id IS NULL
    ),
    place AS MATERIALIZED (
      SELECT found.sought, found.alive_until, w.*
        FROM found JOIN lock_waiters AS w ON w.resource = found.resource AND w.ticket = found.ticket),
    whole AS (
      SELECT 'whole', NULL::bigint, w.*
        FROM (SELECT DISTINCT substr(p.resources, 2) AS resource, p.ticket FROM place AS p WHERE p.resources LIKE '=%') AS listed
        JOIN lock_waiters AS w ON w.resource = listed.resource AND w.ticket = listed.ticket)
    SELECT holdfast_waiters.last, holdfast_waiters.waiting, w.sought, w.alive_until, w.resource, w.ticket, w.waiter_id,
           w.instance, w.owner, w.ttl_ms, w.request_id, w.metadata, w.resources, w.own_tokens, w.joined_at, w.deadline
      FROM (SELECT * FROM place UNION ALL SELECT * FROM whole) AS w
     ORDER BY w.ticket;
END $$;

-- Stores, behind the lock, who stands in line after a group and who does no more: first the places that were left, since another
-- waiter may take over one. Those who joined can have their turn until alive_until, at the least, while their instance has the lock
-- session_key. grant_*: which of the group's events were somebody's turn.
CREATE OR REPLACE FUNCTION holdfast_change_lines(
  left_resources text[], left_tickets bigint[],
  joined_resources text[], joined_tickets bigint[], waiter_ids text[], joined_instances text[], owners text[], ttls_ms integer[],
  request_ids text[], metadatas text[], all_resources text[], all_own_tokens text[], joined_ats bigint[], deadlines bigint[],
  alive_until bigint, session_key bigint, grant_revisions bigint[], grant_waiter_ids text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  removed bigint;
  added bigint;
BEGIN
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
          set_config('enable_mergejoin', 'off', true);
  DELETE FROM lock_waiters AS w USING unnest(left_resources, left_tickets) AS gone(resource, ticket)
   WHERE w.resource = gone.resource AND w.ticket = gone.ticket;
  GET DIAGNOSTICS removed = ROW_COUNT;
  INSERT INTO lock_waiters (resource, ticket, waiter_id, instance, owner, ttl_ms, request_id, metadata, resources, own_tokens,
                            joined_at, deadline)
  SELECT * FROM unnest(joined_resources, joined_tickets, waiter_ids, joined_instances, owners, ttls_ms, request_ids, metadatas,
                       all_resources, all_own_tokens, joined_ats, deadlines);
  GET DIAGNOSTICS added = ROW_COUNT;
  UPDATE lock_tickets AS t
     SET last = greatest(t.last, (SELECT max(n) FROM unnest(joined_tickets) AS n)), waiting = t.waiting + added - removed
   WHERE t.id = 1;
  INSERT INTO lock_instances AS i (id, alive_until, session_key)
  SELECT DISTINCT instance, holdfast_change_lines.alive_until, holdfast_change_lines.session_key FROM unnest(joined_instances) AS instance
  ON CONFLICT (id) DO UPDATE SET alive_until = greatest(i.alive_until, EXCLUDED.alive_until), session_key = EXCLUDED.session_key;
  INSERT INTO lock_grants (revision, waiter_id) SELECT * FROM unnest(grant_revisions, grant_waiter_ids);
END $$;
