-- Safe to run again, as the scripts before it. Who stands in line is stored in one message, too. The holdfast_change_lines of the version
-- before stays for its instances.

-- A page of the log, whatever it tells of, with whose turn each event was: one statement, which sees one moment. To plan it takes longer
-- than to run it, and whoever has its turn on another instance than the one that decided so waits for it.
CREATE OR REPLACE FUNCTION holdfast_log_page(after_revision bigint, page_events integer)
RETURNS TABLE (log_id text, head bigint, oldest_revision bigint, revision bigint, type text, at bigint, written_at bigint, resource text,
               owner text, fencing_token bigint, acquired_at bigint, expires_at bigint, request_id text, metadata text, waiter_id text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true);
  RETURN QUERY
    SELECT clock.log_id, clock.revision, clock.oldest_revision, event.*
      FROM lock_clock AS clock LEFT JOIN LATERAL (
        SELECT e.revision, e.type, e.at, e.written_at, e.resource, e.owner, e.fencing_token, e.acquired_at, e.expires_at, e.request_id,
               e.metadata, (SELECT g.waiter_id FROM lock_grants AS g WHERE g.revision = e.revision)
          FROM lock_events AS e WHERE e.revision > after_revision ORDER BY e.revision LIMIT page_events) AS event ON true
     WHERE clock.id = 1
     ORDER BY event.revision;
END $$;

-- For a group that is decided outside where somebody stands in line. Takes the lock that makes all groups serial, and looks at rows,
-- at who is first in line, and at calls that stand in line already: expected_log_id where all are as they were assumed, else '', which
-- is no log's id, so that holdfast_store_group, which is called with it, stores nothing. That one looks at the log, at the group's age
-- and at requests, as for any group.
--
-- decided_at: as there. known_ticket: the last one that the instance knew.
-- resources, revisions, owners: the rows that there are (revision 0: there is none); first_waiter_ids: whose turn is next (null:
--   nobody's). Revision -1: whatever is there, another one than that owner holds it, and so whoever comes stands in line for it.
-- call_*: none of these calls stands in line, under its request or, where that is null, as that waiter.
CREATE OR REPLACE FUNCTION holdfast_as_assumed(
  expected_log_id text, decided_at bigint, known_ticket bigint, lock_timeout_ms integer,
  resources text[], revisions bigint[], owners text[], first_waiter_ids text[],
  call_owners text[], call_request_ids text[], call_waiter_ids text[]) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  moment bigint;
  is_true boolean;
BEGIN
  PERFORM set_config('lock_timeout', lock_timeout_ms::text, true), set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
          set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
  SELECT greatest(c.at, decided_at) INTO moment FROM lock_clock AS c WHERE c.id = 1 FOR UPDATE;
  is_true := NOT EXISTS (
      SELECT FROM unnest(resources, revisions, owners, first_waiter_ids) AS assumed(resource, revision, owner, first_waiter_id)
        LEFT JOIN distributed_locks AS l ON l.resource = assumed.resource
       WHERE CASE WHEN assumed.revision = -1 THEN coalesce(l.owner = assumed.owner OR l.expires_at <= moment, true)
                  ELSE coalesce(l.revision, 0) <> assumed.revision OR l.owner IS DISTINCT FROM assumed.owner
                    OR assumed.first_waiter_id IS DISTINCT FROM (
                      SELECT w.waiter_id FROM lock_waiters AS w JOIN holdfast_live_instances(moment) AS live ON live.id = w.instance
                       WHERE w.resource = assumed.resource AND w.deadline > moment ORDER BY w.ticket LIMIT 1) END)
    AND NOT EXISTS (
      SELECT FROM unnest(call_owners, call_request_ids, call_waiter_ids) AS call(owner, request_id, waiter_id)
       WHERE EXISTS (SELECT FROM lock_waiters AS w WHERE w.owner = call.owner AND w.request_id = call.request_id)
          OR call.request_id IS NULL AND EXISTS (SELECT FROM lock_waiters AS w WHERE w.owner = call.owner AND w.request_id IS NULL
                                                                                 AND w.waiter_id = call.waiter_id))
    AND EXISTS (SELECT FROM lock_tickets AS t WHERE t.id = 1 AND t.last >= known_ticket);
  RETURN CASE WHEN is_true THEN expected_log_id ELSE '' END;
END $$;

-- Stores, behind the lock, who stands in line after a group and who does no more: first the places that were left, since another
-- waiter may take over one. Those who joined can have their turn until alive_until, at the least, while their instance has the lock
-- session_key. grant_*: which of the group's events were somebody's turn.
--
-- known_ticket: the last one before the group, as far as the instance knew. It counted new tickets from there on; they are stored as
-- counted from the one that is the last in truth, which is returned. delay, shift: by so much later than it was decided, and by so many
-- revisions behind those that were assumed, the group was stored.
CREATE OR REPLACE FUNCTION holdfast_change_lines(
  known_ticket bigint, delay bigint, shift bigint, left_resources text[], left_tickets bigint[],
  joined_resources text[], joined_tickets bigint[], waiter_ids text[], joined_instances text[], owners text[], ttls_ms integer[],
  request_ids text[], metadatas text[], all_resources text[], all_own_tokens text[], joined_ats bigint[], deadlines bigint[],
  alive_until bigint, session_key bigint, grant_revisions bigint[], grant_waiter_ids text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  ticket_before bigint;
  removed bigint := 0;
  added bigint := 0;
BEGIN
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
          set_config('enable_bitmapscan', 'off', true), set_config('enable_hashjoin', 'off', true),
          set_config('enable_mergejoin', 'off', true);
  SELECT t.last INTO ticket_before FROM lock_tickets AS t WHERE t.id = 1;
  IF cardinality(left_resources) > 0 THEN
    DELETE FROM lock_waiters AS w USING unnest(left_resources, left_tickets) AS gone(resource, ticket)
     WHERE w.resource = gone.resource AND w.ticket = gone.ticket;
    GET DIAGNOSTICS removed = ROW_COUNT;
  END IF;
  IF cardinality(joined_resources) > 0 THEN
    -- The last moment that a date can have is no moment: such a wait has no end.
    INSERT INTO lock_waiters (resource, ticket, waiter_id, instance, owner, ttl_ms, request_id, metadata, resources, own_tokens,
                              joined_at, deadline)
    SELECT j.resource, j.ticket + CASE WHEN j.ticket > known_ticket THEN ticket_before - known_ticket ELSE 0 END, j.waiter_id,
           j.instance, j.owner, j.ttl_ms, j.request_id, j.metadata, j.resources, j.own_tokens,
           j.joined_at + delay, least(j.deadline + delay, 8640000000000000)
      FROM unnest(joined_resources, joined_tickets, waiter_ids, joined_instances, owners, ttls_ms, request_ids, metadatas,
                  all_resources, all_own_tokens, joined_ats, deadlines)
        AS j(resource, ticket, waiter_id, instance, owner, ttl_ms, request_id, metadata, resources, own_tokens, joined_at, deadline);
    GET DIAGNOSTICS added = ROW_COUNT;
    INSERT INTO lock_instances AS i (id, alive_until, session_key)
    SELECT DISTINCT instance, holdfast_change_lines.alive_until, holdfast_change_lines.session_key FROM unnest(joined_instances) AS instance
    ON CONFLICT (id) DO UPDATE SET alive_until = greatest(i.alive_until, EXCLUDED.alive_until), session_key = EXCLUDED.session_key;
  END IF;
  UPDATE lock_tickets AS t
     SET last = ticket_before + greatest((SELECT max(n) FROM unnest(joined_tickets) AS n) - known_ticket, 0),
         waiting = t.waiting + added - removed
   WHERE t.id = 1;
  IF cardinality(grant_revisions) > 0 THEN
    INSERT INTO lock_grants (revision, waiter_id)
    SELECT granted.revision + shift, granted.waiter_id FROM unnest(grant_revisions, grant_waiter_ids) AS granted(revision, waiter_id);
  END IF;
  RETURN ticket_before;
END $$;
