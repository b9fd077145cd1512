BEGIN;

CREATE TABLE IF NOT EXISTS "lock_waiters" (
    "resource" TEXT NOT NULL,
    "ticket" BIGINT NOT NULL,
    "waiter_id" TEXT NOT NULL,
    "instance" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "ttl_ms" INTEGER NOT NULL,
    "request_id" TEXT,
    "metadata" TEXT,
    "resources" TEXT,
    "own_tokens" TEXT,
    "joined_at" BIGINT NOT NULL,
    "deadline" BIGINT NOT NULL,

    PRIMARY KEY ("resource", "ticket")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "lock_tickets" (
    "id" INTEGER NOT NULL PRIMARY KEY,
    "last" BIGINT NOT NULL,
    "waiting" BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS "lock_grants" (
    "revision" BIGINT NOT NULL PRIMARY KEY,
    "waiter_id" TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "lock_instances" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "alive_until" BIGINT NOT NULL
);

CREATE INDEX IF NOT EXISTS "lock_waiters_owner_request_id_waiter_id_idx" ON "lock_waiters"("owner", "request_id", "waiter_id");

INSERT INTO "lock_tickets" ("id", "last", "waiting")
VALUES (1, 0, 0)
ON CONFLICT ("id") DO NOTHING;

COMMIT;
