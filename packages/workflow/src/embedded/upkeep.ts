import { hashOf } from "../bundle/hash.ts";
import { messageOf } from "../contract/error.ts";
import type {
  CollectOptions,
  Garbage,
  Problem,
  Verification,
  VerifyOptions,
} from "../host/host.ts";
import { LogFold } from "../record/fold.ts";
import { parseRegistry } from "../registry/parse.ts";
import { hashesOf } from "../registry/versions.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { ThreadStore } from "../store/store.ts";
import { isMissing } from "./noted.ts";
import { StoredLines } from "./stored-lines.ts";

/** Implements `Host.verify`. */
export async function verify(
  store: ThreadStore,
  pages: AsyncIterable<readonly ThreadRef[]>,
  { onProgress }: VerifyOptions = {},
): Promise<Verification> {
  const checked = { bundles: 0, threads: 0 };
  const problems: Problem[] = [];
  const withoutSums: string[] = [];
  for (const hash of await store.listBundles()) {
    const bundle = await store.readBundle(hash);
    if (bundle && hashOf(bundle.code) !== hash) {
      problems.push({ path: hash, message: "the bytes do not match the hash" });
    }
    checked.bundles += 1;
    onProgress?.({ ...checked });
  }
  const check = async ({ hash, threadId }: ThreadRef): Promise<void> => {
    const ref = { hash, threadId };
    const path = store.where(ref, "data");
    try {
      const data = new StoredLines(store, ref, "data");
      await data.refresh();
      const fold = new LogFold(ref);
      for (const line of data.forward()) if (fold.take(line) === null) break;
      const { broken, sum } = fold;
      if (broken) {
        const { line, offset, reason } = broken;
        problems.push({ path, line, offset, message: reason });
      }
      if (sum === null) withoutSums.push(threadId);
    } catch (error) {
      // The thread was removed in the meantime.
      if (isMissing(error)) return;
      problems.push({ path, message: messageOf(error) });
    }
    checked.threads += 1;
    onProgress?.({ ...checked });
  };
  for await (const page of pages) for (const ref of page) await check(ref);
  return { checked, problems, withoutSums };
}

/** Implements `Host.collect`. `used` returns the hashes of the bundles that have threads. */
export async function collect(
  store: ThreadStore,
  used: () => Promise<string[]>,
  { dryRun = false }: CollectOptions = {},
): Promise<Garbage> {
  const { text } = await store.readRegistry();
  const named = text === "" ? [] : hashesOf(parseRegistry(text).registry);
  const needed = new Set([...named, ...(await used())]);
  const isRemoved = async (hash: string): Promise<boolean> => {
    // Another host may have started a thread of the bundle, or registered the bundle.
    if (store.removeUnused) return await store.removeUnused(hash);
    await store.removeBundle(hash);
    return true;
  };
  const removed: string[] = [];
  let kept = 0;
  let bytes = 0;
  for (const hash of await store.listBundles()) {
    const code = needed.has(hash) ? null : (await store.readBundle(hash))?.code;
    if (code && (dryRun || (await isRemoved(hash)))) {
      removed.push(hash);
      bytes += code.length;
    } else if (code !== undefined) kept += 1;
  }
  return { removed, kept, bytes, leftovers: [], emptied: [], problems: [] };
}
