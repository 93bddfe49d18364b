import { rmSync } from "node:fs";
import {
  hashOf,
  type HostIdentity,
  makeTemporary,
  type MovingHost,
} from "@uncaged/workflow/internal";
import {
  DiskStore,
  type Location,
  movedError,
  openRoot,
  readBundle,
  refusals,
  type Root,
  type ThreadRef,
} from "@uncaged/workflow/store";
import { shownUrl } from "../database/address.ts";
import type { Database } from "../database/database.ts";
import { channelOf } from "../store/changes.ts";
import { isHeld, serverNow } from "../store/rows.ts";
import type { PostgresStore } from "../store/store.ts";
import { arrive, checkArrival } from "./arrival.ts";
import { copyThread } from "./departure.ts";
import { bundleMissing } from "./errors.ts";
import { headsIn } from "./heads.ts";
import { movingNames } from "./names.ts";

/** The operations that move threads out of and into a database, and a function that deletes their temporary copies. */
export type MovingDatabase = { moving: MovingHost; removeCopies: () => void };

type Row = { hash: string; location: string | null; moved_to: string | null };

/**
 * Returns the operations that move threads out of and into a schema. The operations copy files into a temporary storage
 * root.
 */
export function movingDatabase(store: PostgresStore): MovingDatabase {
  const { database } = store;
  const { schema } = database;
  let copies: Root | null = null;
  const root = (): Root => (copies ??= openRoot({ path: makeTemporary("uncaged-postgres-") }));
  const rowOf = async (threadId: string): Promise<Row | null> => {
    const [row] = await database.query<Row>(
      `SELECT hash, location, moved_to FROM ${schema}.threads WHERE thread_id = $1`,
      [threadId],
    );
    return row ?? null;
  };
  // A lost notification only delays watches.
  const notify = () =>
    database.query("SELECT pg_notify($1, '')", [channelOf(database)]).catch(() => undefined);

  async function bundle(hash: string): Promise<Root> {
    const found = await store.readBundle(hash);
    if (!found) throw bundleMissing(hash);
    await new DiskStore(root()).putBundle(found);
    await readBundle(root(), hash);
    return root();
  }

  const moving: MovingHost = {
    async identity() {
      const [row] = await database.query<{ identity: string }>(
        `SELECT identity FROM ${schema}.registry`,
      );
      return { id: row?.identity ?? "", name: shownUrl(database.address) };
    },
    // Each move is atomic, so moves on several machines need no lock.
    alone: (_, act) => act(),
    async presence(threadId) {
      const row = await rowOf(threadId);
      return row && { hash: row.hash, location: locationOf(row) };
    },
    async files(ref) {
      await bundle(ref.hash);
      await copyThread(database, store, root(), ref);
      await headsIn(root(), ref);
      return root();
    },
    bundle,
    ...movingNames(store, root),
    check: (from, ref) => checkArrival(database, from as Root, ref),
    async takeBundle(from, hash) {
      const code = await readBundle(from as Root, hash);
      const here = await store.readBundle(hash);
      const isWhole = here !== null && hashOf(here.code) === hash;
      const isSame = isWhole && Buffer.from(here.code).equals(code);
      if (isWhole && !isSame) throw refusals.hashCollision(hash);
      const given = isSame ? null : await new DiskStore(from as Root).readBundle(hash);
      if (given) await store.putBundle({ ...given, code });
    },
    async leave(ref, to) {
      const left = (await leave(database, ref, to)) ?? (await refusedLeave(ref, to));
      await notify();
      return left;
    },
    async arrive(from, ref, arrival, options) {
      await arrive(database, from as Root, ref, arrival, options);
      await notify();
    },
  };

  /**
   * Returns the location of a thread that has left for this host.
   * @throws WorkflowError with the reason why the thread can't leave
   */
  async function refusedLeave({ hash, threadId }: ThreadRef, to: HostIdentity): Promise<Location> {
    const row = await rowOf(threadId);
    if (row?.hash !== hash) throw refusals.notFound(threadId);
    const location = locationOf(row);
    if (location?.host?.id === to.id) return location;
    if (row.moved_to !== null) throw movedError(threadId, row.moved_to);
    throw refusals.moves(threadId);
  }

  return {
    moving,
    removeCopies() {
      if (copies !== null) rmSync(copies, { recursive: true, force: true });
      copies = null;
    },
  };
}

const locationOf = ({ location }: Pick<Row, "location">): Location | null =>
  location === null ? null : (JSON.parse(location) as Location);

/** Releases an unclaimed thread to another host. Returns null, without a change, if the thread can't leave. */
async function leave(
  database: Database,
  { hash, threadId }: ThreadRef,
  { id, name }: HostIdentity,
): Promise<Location | null> {
  const { schema } = database;
  const [row] = await database.query<{ location: string }>(
    `UPDATE ${schema}.threads t SET
       moved_to = $4, owner = NULL, lease_until = NULL, paused = false,
       fence = nextval('${schema}.fences'), changed = pg_current_xact_id(),
       location = jsonb_strip_nulls(jsonb_build_object(
         'moves', coalesce((t.location::jsonb ->> 'moves')::int, 0) + 1,
         'host', jsonb_build_object('id', $3::text, 'name', $4::text),
         'at', ${serverNow},
         'paused', CASE WHEN t.paused THEN true END
       ))::text
     WHERE t.thread_id = $1 AND t.hash = $2 AND t.moved_to IS NULL AND NOT ${isHeld("t")}
     RETURNING t.location`,
    [threadId, hash, id, name],
  );
  return row ? locationOf(row) : null;
}
