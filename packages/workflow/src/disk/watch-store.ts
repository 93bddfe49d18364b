import type { ThreadRef } from "../record/thread.ts";
import { encode } from "../record/sum.ts";
import { xxh64 } from "../record/xxh64.ts";
import type { RegistryState, StoreChange } from "../store/store.ts";
import { system } from "../system/system.ts";
import { readOwnFile } from "./files.ts";
import { dataPath, infoPath, journalPath, pausedPath, registryPath, type Root } from "./paths.ts";
import { isCreated } from "./threads.ts";
import { watchLogs } from "./watch-logs.ts";

const watchEveryMs = 2_000;
const mostRegistryBytes = 16 * 1024 * 1024;

/** Reads the registry's text and its version for comparisons. */
export function readRegistryState(root: Root): RegistryState {
  const bytes = readOwnFile(registryPath(root), mostRegistryBytes);
  const text = bytes ? new TextDecoder().decode(bytes) : "";
  return { text, version: xxh64(encode(text)).toString(16) };
}

/** Yields the changes of a storage root until `signal` is aborted. Implements `ThreadStore.watch`. */
export async function* watchStore(
  root: Root,
  signal: AbortSignal,
  ref?: ThreadRef,
): AsyncGenerator<StoreChange> {
  const changed = new Map<string, ThreadRef>();
  let wake = Promise.withResolvers<void>();
  let registry = readRegistryState(root).version;
  const ring = () => wake.resolve();
  const logs = watchLogs(root, (one) => {
    if (ref && one.threadId !== ref.threadId) return;
    changed.set(one.threadId, one);
    ring();
  });
  const names = ref ? null : watchQuietly(root, ring);
  signal.addEventListener("abort", ring);
  try {
    if (!signal.aborted) yield { kind: "ready" };
    while (!signal.aborted) {
      const all = [...changed.values()];
      changed.clear();
      for (const one of all) {
        const isThere = isCreated(root, one.hash, one.threadId);
        yield { kind: isThere ? "thread" : "removed", ref: one };
      }
      const { version } = readRegistryState(root);
      if (!ref && version !== registry) yield { kind: "registry" };
      registry = version;
      if (changed.size > 0) continue;
      // Also compare the sizes of files: some file systems do not report every change.
      const before = ref && sizesOf(root, ref);
      const cancel = system.clock.after(watchEveryMs, ring);
      await wake.promise;
      cancel();
      wake = Promise.withResolvers();
      logs.ensure();
      if (ref && sizesOf(root, ref) !== before) changed.set(ref.threadId, ref);
    }
  } finally {
    logs.close();
    names?.close();
    signal.removeEventListener("abort", ring);
  }
}

function sizesOf(root: Root, { hash, threadId }: ThreadRef): string {
  const paths = [dataPath, journalPath, infoPath, pausedPath];
  return paths.map((pathOf) => system.files.stat(pathOf(root, hash, threadId))?.size ?? "").join();
}

function watchQuietly(folder: string, onChange: () => void): { close(): void } | null {
  try {
    return system.files.watch(folder, onChange, onChange);
  } catch {
    return null;
  }
}
