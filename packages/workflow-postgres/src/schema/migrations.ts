/**
 * The migrations of a schema, in order. A released migration never changes. A migration never removes a table or column
 * that an older version uses. `$` stands for the schema.
 *
 * - `threads` has one row for each thread: the heads of its logs, its state, its claim, and an entry for lists.
 * - `lines` has the logs: `log` 0 are records, 1 the journal, 2 the debug log (several lines in a row), 3 values that
 *   are too long for their events. `n` counts from 0 in each log of a thread. The `n` of a value is the byte at which it
 *   begins in the file of values of a storage root, because events refer to it; `long_values` is the length of that file.
 * - `lines` and `blobs` are partitioned by the time in thread ids. Rows of times without a partition are in the default
 *   partition.
 * - `removals` has the removed threads, for watches. A row with a `location` must stay: it refuses a late arrival of
 *   the thread.
 * - `plan_rows` has the rows of plans, null for a removed row, with the number of the commit that wrote them.
 * - `location` is the JSON of a thread's moves between hosts; `moved_to` names the host to which it has moved.
 * - `changed` is the id of the transaction that last made a change that readers need to see.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE $.bundles (
    hash text COLLATE "C" PRIMARY KEY,
    code bytea NOT NULL,
    descriptor text NOT NULL,
    types text,
    map text
  );

  CREATE TABLE $.registry (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    content text NOT NULL,
    version bigint NOT NULL,
    identity text NOT NULL DEFAULT gen_random_uuid()::text,
    changed xid8 NOT NULL DEFAULT pg_current_xact_id()
  );
  INSERT INTO $.registry (content, version) VALUES ('', 0);

  CREATE TABLE $.threads (
    thread_id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL,
    name text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    state text NOT NULL CHECK (state IN ('running', 'waiting', 'ended')),
    due_at bigint,
    paused boolean NOT NULL DEFAULT false,
    postponed_until bigint NOT NULL DEFAULT 0,
    moved_to text,
    location text,
    fork_from text COLLATE "C",
    records int NOT NULL,
    turns int NOT NULL,
    events int NOT NULL DEFAULT 0,
    long_values int NOT NULL DEFAULT 0,
    record_sum text NOT NULL,
    turn_sum text NOT NULL,
    last_seq bigint NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    owner text,
    lease_until timestamptz,
    changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    entry text,
    entry_records int
  );
  CREATE INDEX threads_changed ON $.threads (changed);
  CREATE INDEX threads_hash ON $.threads (hash, thread_id);
  CREATE INDEX threads_running ON $.threads (updated_at) WHERE state = 'running';
  CREATE INDEX threads_due ON $.threads (due_at) WHERE state = 'waiting' AND due_at IS NOT NULL;
  CREATE INDEX threads_fork ON $.threads (fork_from) WHERE fork_from IS NOT NULL;
  CREATE INDEX threads_owned ON $.threads (owner) WHERE owner IS NOT NULL;
  CREATE INDEX threads_reversed ON $.threads (reverse(thread_id) text_pattern_ops);
  CREATE SEQUENCE $.fences;

  CREATE TABLE $.lines (
    thread_id text COLLATE "C" NOT NULL,
    log smallint NOT NULL,
    n int NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (thread_id, log, n)
  ) PARTITION BY RANGE (thread_id);
  CREATE TABLE $.lines_other PARTITION OF $.lines DEFAULT;

  CREATE TABLE $.blobs (
    thread_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (thread_id, id)
  ) PARTITION BY RANGE (thread_id);
  CREATE TABLE $.blobs_other PARTITION OF $.blobs DEFAULT;

  CREATE TABLE $.removals (
    thread_id text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    location text,
    at timestamptz NOT NULL DEFAULT now(),
    changed xid8 NOT NULL DEFAULT pg_current_xact_id()
  );
  CREATE INDEX removals_changed ON $.removals (changed);
  CREATE INDEX removals_moved ON $.removals (thread_id) WHERE location IS NOT NULL;

  CREATE TABLE $.workers (
    name text PRIMARY KEY,
    backend int,
    backend_start timestamptz,
    seen_at timestamptz NOT NULL,
    about jsonb NOT NULL DEFAULT '{}'
  );

  CREATE TABLE $.plan_rows (
    key text COLLATE "C" PRIMARY KEY,
    content text,
    version bigint NOT NULL
  );
  CREATE INDEX plan_rows_version ON $.plan_rows (version);
  CREATE TABLE $.plan_commits (version bigint PRIMARY KEY, id text NOT NULL);
  CREATE TABLE $.plan_locks (name text PRIMARY KEY, holder text NOT NULL, held_until timestamptz NOT NULL);
  `,
];
