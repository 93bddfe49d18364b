import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DiskStore, type Root, threadFiles, openRoot } from "@uncaged/workflow/store";
import { isWorkflowError } from "@uncaged/workflow/host";
import type { ClusterClient } from "../client/client.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { ClaimedCopy } from "./claim.ts";
import { recordsDamaged } from "./errors.ts";

/** Copy of a claimed thread. `remove` deletes it. */
export type OwnCopy = ClaimedCopy & { remove: () => void };

/**
 * Copies a claimed thread and checks the copy. `line`: the start record of a thread without other records. Returns null
 * when the thread was removed meanwhile.
 * @throws WorkflowError `LOG_CORRUPT`
 */
export async function copyClaimed(
  client: ClusterClient,
  parent: Root,
  meta: ThreadMeta,
  line?: string,
): Promise<OwnCopy | null> {
  const { hash, threadId, records } = meta;
  const root = openRoot({ path: mkdtempSync(join(parent, "run", "claim-")) });
  const store = new DiskStore(root);
  const remove = (): void => {
    void store.close();
    rmSync(root, { recursive: true, force: true });
  };
  try {
    mkdirSync(join(root, "run"), { mode: 0o700 });
    const lines = line === undefined ? [] : [Buffer.from(line)];
    const now = await new Mirror(root, client).sync(threadId, meta, lines);
    if (now?.records !== records) {
      remove();
      return null;
    }
    const ref = { hash, threadId };
    const copy = await store.claim(ref, { owner: "copy", leaseMs: 0, durability: "os" });
    if (!copy || copy.cut) throw recordsDamaged(threadId);
    return { root, files: threadFiles(root, ref), copy, remove };
  } catch (error) {
    remove();
    throw isWorkflowError(error) && error.code === "LOG_CORRUPT" ? recordsDamaged(threadId) : error;
  }
}
