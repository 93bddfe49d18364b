import type { StartRecord } from "../record/record.ts";
import type { Memory, StoredThread } from "./memory.ts";
import type { ThreadIndex } from "./store.ts";

/** Returns the index of a memory; `open` throws when its store is closed. */
export function memoryIndex(open: () => Memory): ThreadIndex {
  const list = (is: (thread: StoredThread) => boolean) => {
    const memory = open();
    return [...memory.threads.values()]
      .filter(is)
      .sort((a, b) => (a.threadId < b.threadId ? 1 : -1))
      .map((thread) => memory.infoOf(thread));
  };
  return {
    count: async () => open().threads.size,
    hashes: async () => [...new Set(list(() => true).map(({ hash }) => hash))],
    matching: async (text, limit) =>
      list(({ threadId }) => threadId.startsWith(text) || threadId.endsWith(text)).slice(0, limit),
    async relatives(threadId) {
      const first = firstOf(open(), threadId);
      return list((thread) => firstOf(open(), thread.threadId) === first);
    },
    active: async () =>
      list(({ state }) => state.kind !== "ended").filter(
        ({ state, owner }) => state.kind === "running" || owner !== null,
      ),
    async entries(refs) {
      const { threads } = open();
      return new Map(
        refs.flatMap(({ hash, threadId }) => {
          const thread = threads.get(threadId);
          return thread?.hash === hash && thread.entry ? [[threadId, { ...thread.entry }]] : [];
        }),
      );
    },
    async keep({ hash, threadId }, entry) {
      const thread = open().threads.get(threadId);
      if (thread?.hash === hash) thread.entry = { ...entry };
    },
  };
}

/** Returns the first ancestor of a thread, which may have been removed. */
function firstOf({ threads }: Memory, threadId: string): string {
  const seen = new Set<string>();
  for (let first = threadId; ; ) {
    seen.add(first);
    const [line] = threads.get(first)?.logs.data ?? [];
    const start = line === undefined ? null : (JSON.parse(line) as StartRecord);
    const from = start?.forkFrom?.threadId;
    if (from === undefined || seen.has(from)) return first;
    first = from;
  }
}
