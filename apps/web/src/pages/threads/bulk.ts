import type { Thread, ThreadRow } from "@uncaged/workflow-server/api-types";
import { ApiError, pathOf, request } from "../../lib/request.ts";
import { killThread, removeThread, retryThread } from "../../lib/threads.ts";

export type Act = "retry" | "kill" | "delete" | "export";

/** The outcome for a thread: a text of an export, or null; or the error. */
export type Outcome = { text: string | null } | { error: Error };

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** An id for a new thread. The server starts one thread for an id, so a repeated request starts no second one. */
export function newThreadId(now: number, random: Uint8Array): string {
  const time = Array.from({ length: 10 }, (_, at) => digits[Math.floor(now / 32 ** (9 - at)) % 32]);
  return [...time, ...Array.from(random, (byte) => digits[byte % 32])].join("");
}

/** Acts on a thread. `newId` is the id of the thread of a retry, the same for each attempt. */
export async function actOn(act: Act, { threadId }: ThreadRow, newId: string): Promise<Outcome> {
  try {
    switch (act) {
      case "retry":
        await retryThread(threadId, { threadId: newId });
        break;
      case "kill":
        await killThread(threadId);
        break;
      case "delete":
        await removeThread(threadId);
        break;
      case "export": {
        const thread = await request<Thread>(pathOf("threads", threadId));
        return { text: JSON.stringify(thread) };
      }
    }
  } catch (error) {
    // An earlier attempt deleted it, and its response was lost.
    const isGone = act === "delete" && error instanceof ApiError && error.status === 404;
    if (!isGone) return { error: error instanceof Error ? error : new Error(String(error)) };
  }
  return { text: null };
}

const atOnce = 4;

/** Calls `act` for each item, a few at a time. */
export async function forEachOf<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await act(item);
    }),
  );
}

/** Saves a text as a file of the browser's user. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
