-- All or nothing, and safe to run again: a process may be killed after the script and before the record of it.
BEGIN;

-- AUTOINCREMENT: an id is never given out again, even after its row is gone.
CREATE TABLE IF NOT EXISTS "distributed_locks" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "resource" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "fencing_token" BIGINT NOT NULL,
    "revision" BIGINT NOT NULL,
    "acquired_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "ttl_ms" INTEGER NOT NULL,
    "request_id" TEXT,
    "reacquired" BOOLEAN NOT NULL,
    "metadata" TEXT,
    "expiry_recorded" BOOLEAN NOT NULL
);

-- Prisma reads 64 bits only from what is declared BIGINT, and a BIGINT key is no alias of the rowid: WITHOUT ROWID
-- clusters the log by its revision all the same, without a second tree.
CREATE TABLE IF NOT EXISTS "lock_events" (
    "revision" BIGINT NOT NULL PRIMARY KEY,
    "segment" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "at" BIGINT NOT NULL,
    "written_at" BIGINT NOT NULL,
    "resource" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "fencing_token" BIGINT NOT NULL,
    "acquired_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "request_id" TEXT,
    "metadata" TEXT
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "lock_clock" (
    "id" INTEGER NOT NULL PRIMARY KEY,
    "log_id" TEXT NOT NULL,
    "revision" BIGINT NOT NULL,
    "oldest_revision" BIGINT NOT NULL,
    "at" BIGINT NOT NULL
);

CREATE UNIQUE INDEX IF NOT EXISTS "distributed_locks_resource_key" ON "distributed_locks"("resource");

CREATE INDEX IF NOT EXISTS "distributed_locks_owner_resource_idx" ON "distributed_locks"("owner", "resource");

CREATE INDEX IF NOT EXISTS "distributed_locks_expiry_recorded_expires_at_id_idx" ON "distributed_locks"("expiry_recorded", "expires_at", "id");

CREATE INDEX IF NOT EXISTS "lock_events_segment_resource_revision_idx" ON "lock_events"("segment", "resource", "revision");

CREATE INDEX IF NOT EXISTS "lock_events_segment_owner_revision_idx" ON "lock_events"("segment", "owner", "revision");

CREATE INDEX IF NOT EXISTS "lock_events_segment_fencing_token_revision_idx" ON "lock_events"("segment", "fencing_token", "revision");

-- Few acquires name a requestId: those that don't pay nothing. A Prisma schema can't say this, and Prisma overlooks it.
CREATE INDEX IF NOT EXISTS "lock_events_request_idx" ON "lock_events"("request_id", "resource", "owner", "revision")
WHERE "request_id" IS NOT NULL AND "type" = 'ACQUIRED';

INSERT INTO "lock_clock" ("id", "log_id", "revision", "oldest_revision", "at")
VALUES (1, lower(hex(randomblob(16))), 0, 0, 0)
ON CONFLICT ("id") DO NOTHING;

COMMIT;
