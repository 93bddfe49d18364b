import { handlers, object, type ObjectContext, serde } from "@restatedev/restate-sdk";
import { numbered, unframe } from "../client/frame.ts";
import { serviceMetadata } from "../cluster/names.ts";
import { type BundleRow, bundlesPeriod, newestPrefix, periodsPeriod } from "../thread/row.ts";
import { brief } from "./options.ts";

/** Files of a bundle with the number of their pieces. Bundles stored by an older version lack `sha256`. */
export type BundleInfo = {
  bytes: number;
  sha256?: string;
  files: { name: string; pieces: number }[];
};

/** Discarded bundle, with the time in milliseconds since the epoch. */
type Trash = { info: BundleInfo; at: number };

/** Bundles. The pieces of a bundle's files come first and `info` last: a bundle exists once it has `info`. */
export const bundleObject = object({
  name: "bundle",
  metadata: serviceMetadata,
  options: brief,
  handlers: {
    piece: handlers.object.exclusive(
      { input: serde.binary, accept: "*/*" },
      async (ctx: ObjectContext, message: Uint8Array) => {
        const { header, parts } = unframe(message);
        ctx.set((header as { key: string }).key, parts[0] as Uint8Array, serde.binary);
        // A new store of a discarded bundle postpones its deletion.
        const trash = await ctx.get<Trash>("trash");
        if (trash) ctx.set("trash", { ...trash, at: await ctx.date.now() });
        return {};
      },
    ),
    seal: async (ctx: ObjectContext, { files, ...others }: BundleInfo) => {
      const at = await ctx.date.now();
      const before =
        (await ctx.get<BundleInfo>("info")) ?? (await ctx.get<Trash>("trash"))?.info ?? null;
      const stay = before?.files.filter(({ name }) => files.every((file) => file.name !== name));
      const info: BundleInfo = { ...others, files: [...(stay ?? []), ...files] };
      ctx.set("info", info);
      ctx.set("at", at);
      ctx.clear("trash");
      await list(ctx, { bytes: info.bytes, at });
      return {};
    },
    /** Discards a bundle that was stored before a time. The next reader restores it. */
    discard: async (ctx: ObjectContext, { before }: { before: number }) => {
      const info = await ctx.get<BundleInfo>("info");
      const at = (await ctx.get<number>("at")) ?? 0;
      if (!info || at > before) return { discarded: false };
      const discarded = await ctx.date.now();
      ctx.clear("info");
      ctx.set("trash", { info, at: discarded });
      await list(ctx, { bytes: info.bytes, at, discarded });
      return { discarded: true };
    },
    restore: async (ctx: ObjectContext) => {
      const trash = await ctx.get<Trash>("trash");
      if (!trash) return {};
      const at = await ctx.date.now();
      ctx.set("info", trash.info);
      ctx.set("at", at);
      ctx.clear("trash");
      await list(ctx, { bytes: trash.info.bytes, at });
      return {};
    },
    /** Deletes a bundle that was discarded before a time. */
    remove: async (ctx: ObjectContext, { before }: { before: number }) => {
      const trash = await ctx.get<Trash>("trash");
      if (!trash || trash.at > before) return { removed: false };
      ctx.clearAll();
      await list(ctx, null);
      return { removed: true };
    },
  },
});

/** Sets the row of a bundle in the index; null deletes it. */
const list = async (ctx: ObjectContext, row: BundleRow | null): Promise<void> => {
  await ctx.genericCall({
    service: "index",
    method: "set",
    key: bundlesPeriod,
    parameter: { [ctx.key]: row },
    inputSerde: serde.json,
    outputSerde: serde.json,
  });
};

/** Text of the registry, and number of its changes. */
export type RegistryState = { text: string; revision: number };

/**
 * The registry. All names are in one object because two names must not differ only by case. A change names its base
 * revision, and the object refuses a change with a stale base.
 */
export const workflowObject = object({
  name: "workflow",
  metadata: serviceMetadata,
  options: brief,
  handlers: {
    set: async (ctx: ObjectContext, { text, revision }: RegistryState) => {
      const now = (await ctx.get<RegistryState>("registry"))?.revision ?? 0;
      if (now !== revision) return { isSet: false };
      ctx.set("registry", { text, revision: revision + 1 });
      return { isSet: true };
    },
    /** Returns the id of the cluster for other hosts. The first call creates it. */
    identify: async (ctx: ObjectContext) => {
      const known = await ctx.get<{ id: string }>("identity");
      const identity = known ?? { id: ctx.rand.uuidv4() };
      if (!known) ctx.set("identity", identity);
      return identity;
    },
  },
});

/** Change of a thread, and whether it is live now. */
export type LiveChange = { threadId: string; hash: string; isLive: boolean };

/** A created or removed thread. */
export type Counted = LiveChange & { isThere: boolean };

/** Change of a thread that may have ended before a watcher looks at the live threads. */
export type NotedChange = { threadId: string; hash: string };

/** Number of changes kept for watchers. */
export const keptChanges = 1_000;

async function noteLive(ctx: ObjectContext, { threadId, hash, isLive }: LiveChange): Promise<void> {
  if (isLive) ctx.set(threadId, {});
  else ctx.clear(threadId);
  const version = ((await ctx.get<number>("changes")) ?? 0) + 1;
  ctx.set("changes", version);
  ctx.set(numbered("c", version), { threadId, hash });
  ctx.clear(numbered("c", version - keptChanges));
}

/** The list of newest threads has between `newestListed` and `newestListed + pruneEvery` entries. */
const newestListed = 256;
const pruneEvery = 64;

/** Removes the oldest of the newest threads. `oldest` is the id from which on the list is complete. */
async function pruneNewest(ctx: ObjectContext): Promise<void> {
  const keys = (await ctx.stateKeys()).filter((key) => key.startsWith(newestPrefix)).sort();
  const from = keys.length - newestListed;
  if (from <= 0) return;
  for (const key of keys.slice(0, from)) ctx.clear(key);
  const oldest = (keys[from] as string).slice(newestPrefix.length);
  const before = await ctx.get<string>("oldest");
  ctx.set("oldest", before !== null && before > oldest ? before : oldest);
}

/** The index: rows of an hour's threads, live threads, families and bundles. A null row is deleted. */
export const indexObject = object({
  name: "index",
  metadata: serviceMetadata,
  options: brief,
  handlers: {
    /** Counts a thread and updates the newest threads. */
    count: async (ctx: ObjectContext, counted: Counted) => {
      const { threadId, isThere } = counted;
      await noteLive(ctx, counted);
      if (isThere) ctx.set(newestPrefix + threadId, {});
      else ctx.clear(newestPrefix + threadId);
      const total = ((await ctx.get<number>("total")) ?? 0) + (isThere ? 1 : -1);
      ctx.set("total", total);
      if (isThere && total % pruneEvery === 0) await pruneNewest(ctx);
      return {};
    },
    /** Records a change of a thread, and whether the thread is live. */
    live: async (ctx: ObjectContext, change: LiveChange) => {
      await noteLive(ctx, change);
      return {};
    },
    set: async (ctx: ObjectContext, rows: Record<string, unknown>) => {
      for (const [key, row] of Object.entries(rows)) {
        if (row === null) ctx.clear(key);
        else ctx.set(key, row);
      }
      const isHour = /^\d{4}-/.test(ctx.key);
      if (isHour && (await ctx.get("known")) === null) {
        ctx.set("known", true);
        // Wait for the list of hours, so that readers find the first thread of an hour when this call returns.
        await ctx.genericCall({
          service: "index",
          method: "set",
          key: periodsPeriod,
          parameter: { [ctx.key]: {} },
          inputSerde: serde.json,
          outputSerde: serde.json,
        });
      }
      return {};
    },
  },
});
