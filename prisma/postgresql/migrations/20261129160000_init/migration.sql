-- Safe to run again: a process may be killed after the script and before the record of it. (PostgreSQL runs a script in
-- one transaction.)

-- Names are compared and ordered by code point: COLLATE "C".
CREATE TABLE IF NOT EXISTS "distributed_locks" (
    "id" BIGSERIAL NOT NULL,
    "resource" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "fencing_token" BIGINT NOT NULL,
    "revision" BIGINT NOT NULL,
    "acquired_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "ttl_ms" INTEGER NOT NULL,
    "request_id" TEXT COLLATE "C",
    "reacquired" BOOLEAN NOT NULL,
    "metadata" TEXT,
    "expiry_recorded" BOOLEAN NOT NULL,

    CONSTRAINT "distributed_locks_pkey" PRIMARY KEY ("id")
);

CREATE TABLE IF NOT EXISTS "lock_events" (
    "revision" BIGINT NOT NULL,
    "segment" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "at" BIGINT NOT NULL,
    "written_at" BIGINT NOT NULL,
    "resource" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "fencing_token" BIGINT NOT NULL,
    "acquired_at" BIGINT NOT NULL,
    "expires_at" BIGINT NOT NULL,
    "request_id" TEXT COLLATE "C",
    "metadata" TEXT,

    CONSTRAINT "lock_events_pkey" PRIMARY KEY ("revision")
);

CREATE TABLE IF NOT EXISTS "lock_clock" (
    "id" INTEGER NOT NULL,
    "log_id" TEXT NOT NULL,
    "revision" BIGINT NOT NULL,
    "oldest_revision" BIGINT NOT NULL,
    "at" BIGINT NOT NULL,

    CONSTRAINT "lock_clock_pkey" PRIMARY KEY ("id")
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
VALUES (1, replace(gen_random_uuid()::text, '-', ''), 0, 0, 0)
ON CONFLICT ("id") DO NOTHING;
