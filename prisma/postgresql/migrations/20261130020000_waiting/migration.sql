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
