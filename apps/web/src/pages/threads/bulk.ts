import type { Thread, ThreadRow } from "@uncaged/workflow-server/api-types";
import { ApiError, pathOf, request } from "../../lib/request.ts";
import { killThread, removeThread, retryThread } from "../../lib/threads.ts";

export type Act = "retry" | "kill" | "delete" | "export";

/** The outcome for a thread: the exported text, null for other actions, or the error. */
export type Outcome = { text: string | null } | { error: Error };

const requests: Record<Act, (id: string) => Promise<unknown>> = {
  retry: retryThread,
  kill: killThread,
  delete: removeThread,
  export: (id) => request<Thread>(pathOf("threads", id)),
};

export async function actOn(act: Act, { threadId }: ThreadRow): Promise<Outcome> {
  try {
    const answer = await requests[act](threadId);
    return { text: act === "export" ? JSON.stringify(answer) : null };
  } catch (error) {
    // An earlier attempt deleted the thread, and the response was lost.
    const isGone = act === "delete" && error instanceof ApiError && error.status === 404;
    if (isGone) return { text: null };
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
}

const atOnce = 4;

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

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
