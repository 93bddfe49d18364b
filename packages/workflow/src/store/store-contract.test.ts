import { expect, test } from "bun:test";
import { Memory } from "./memory.ts";
import { memoryStore } from "./memory-store.ts";
import { storeContract } from "./store-contract.ts";
import type { StoreUnderTest } from "./store-trial.ts";
import {
  type Claim,
  FencedError,
  type IndexEntry,
  type ThreadIndex,
  type ThreadStore,
} from "./store.ts";

/** Deviations of a store under test from the memory store. */
type Changes = {
  store?: (store: ThreadStore, memory: Memory) => Partial<ThreadStore>;
  claim?: (claim: Claim, memory: Memory) => Partial<Claim>;
  under?: (memory: Memory) => Partial<StoreUnderTest>;
};

/** Returns an object with some of its methods replaced. */
function changed<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get: (_, key) => {
      if (Object.hasOwn(changes, key)) return changes[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function underTest({ store, claim, under }: Changes): StoreUnderTest {
  let passed = 0;
  const memory = new Memory({ now: () => Date.now() + passed, maxRecordBytes: 100_000 });
  const wrap = (held: Claim | null): Claim | null =>
    held && claim ? changed(held, claim(held, memory)) : held;
  return {
    open: async () => {
      const plain = memoryStore(memory);
      const claiming = changed(plain, {
        claim: async (...given) => wrap(await plain.claim(...given)),
        create: async (...given) => {
          const made = await plain.create(...given);
          return { ...made, claim: wrap(made.claim) };
        },
      });
      return store ? changed(claiming, store(claiming, memory)) : claiming;
    },
    die: async () => undefined,
    expire: async (leaseMs) => {
      passed += leaseMs;
    },
    seeds: 20,
    close: async () => undefined,
    ...under?.(memory),
  };
}

const inIndex = (
  index: ThreadIndex | undefined,
  changes: Partial<ThreadIndex>,
): Partial<ThreadStore> => (index ? { index: { ...index, ...changes } } : {});

const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

/** Returns changes that leave half a record at the end of a log; the next claim cuts it off. */
function torn({ isShown = false, isReported = true }): Changes {
  const halves = new Map<string, { log: "data"; half: string }>();
  return {
    under: () => ({
      tear: async (ref, log, record) => {
        halves.set(ref.threadId, { log: log as "data", half: record.slice(0, 9) });
      },
    }),
    store: (store) => ({
      read: async (ref, log, cursor) => {
        const page = await store.read(ref, log, cursor);
        const found = halves.get(ref.threadId);
        if (isShown && found?.log === log) page.lines.push(found.half);
        return page;
      },
      claim: async (ref, options) => {
        const claim = await store.claim(ref, options);
        const found = halves.get(ref.threadId);
        if (!claim || !found) return claim;
        halves.delete(ref.threadId);
        const cut = { log: found.log, bytes: found.half.length, keptIn: null };
        return isReported ? changed(claim, { cut }) : claim;
      },
    }),
  };
}

const sound: [string, Changes][] = [
  ["changes nothing", {}],
  ["cuts off half a record", torn({})],
  [
    "can't fence a live holder",
    {
      store: (store) => ({
        claim: (ref, options) => store.claim(ref, { ...options, takeOver: false }),
      }),
      under: (memory) => ({
        // The holder's lock ends with its process.
        die: async () => {
          for (const thread of memory.threads.values()) thread.holder = null;
        },
        seeds: 0,
      }),
    },
  ],
];

const broken: [string, Changes][] = [
  [
    "acknowledges a write of an ended claim",
    {
      claim: (claim) => ({
        append: async (...given) => {
          try {
            return await claim.append(...given);
          } catch (error) {
            if (error instanceof FencedError) return { paused: false };
            throw error;
          }
        },
      }),
    },
  ],
  [
    "stores an event of an ended claim",
    {
      claim: (claim, memory) => ({
        event: (lines) => {
          memory.threads.get(claim.ref.threadId)?.logs.events.push(...lines);
        },
      }),
    },
  ],
  [
    "appends a record twice",
    {
      claim: (claim) => ({
        append: async (...given) => {
          await claim.append(...given);
          return claim.append(...given);
        },
      }),
    },
  ],
  [
    "writes the journal only at the release",
    {
      claim: (claim) => {
        const kept: string[] = [];
        return {
          journal: async (record) => void kept.push(record),
          release: async () => {
            for (const record of kept) await claim.journal(record).catch(() => undefined);
            await claim.release();
          },
        };
      },
    },
  ],
  [
    "loses the order of concurrent writes",
    {
      claim: (claim) => {
        let count = 0;
        return {
          append: async (...given) => {
            if ((count += 1) % 3 === 0) await moment();
            return claim.append(...given);
          },
        };
      },
    },
  ],
  [
    "shows events after their record",
    {
      claim: (claim) => ({
        event: (lines) => void moment().then(() => claim.event(lines)),
      }),
    },
  ],
  [
    "takes over a claim without `takeOver`",
    { store: (store) => ({ claim: (ref, all) => store.claim(ref, { ...all, takeOver: true }) }) },
  ],
  ["gives all claims the same fence", { claim: () => ({ fence: 1 }) }],
  ["reports that a lost claim holds", { claim: () => ({ renew: async () => true }) }],
  ["never reports that a claim is lost", { claim: () => ({ lost: new AbortController().signal }) }],
  [
    "creates a thread twice in concurrent calls",
    {
      store: (store) => ({
        create: async (thread, claim) => {
          const found = await store.find(thread.threadId);
          await moment();
          if (!found) await store.remove({ ...thread });
          return store.create(thread, claim);
        },
      }),
    },
  ],
  [
    "replaces a thread of another bundle with the same id",
    {
      store: (store) => ({
        create: async (thread, claim) => {
          const found = await store.find(thread.threadId);
          if (found && found.hash !== thread.hash) await store.remove(found);
          return store.create(thread, claim);
        },
      }),
    },
  ],
  [
    "leaves a part of a refused thread",
    {
      store: (store) => ({
        create: async (thread, claim) => {
          await store.create({ ...thread, records: thread.records.slice(0, 1), journal: [] });
          return store.create(thread, claim);
        },
      }),
    },
  ],
  [
    "compares and replaces the registry in two steps",
    {
      store: (store) => ({
        replaceRegistry: async (text, expected) => {
          const { version } = await store.readRegistry();
          await moment();
          const now = await store.readRegistry();
          return version === expected && store.replaceRegistry(text, now.version);
        },
      }),
    },
  ],
  [
    "shares the bytes of a blob with its caller",
    {
      claim: (claim, memory) => ({
        putBlob: async (bytes) => {
          const id = await claim.putBlob(bytes);
          if (id !== null) memory.threads.get(claim.ref.threadId)?.blobs.set(id, bytes);
          return id;
        },
      }),
    },
  ],
  [
    "gives two values the same number",
    { claim: (claim) => ({ keepValue: (json) => (claim.keepValue(json) === null ? null : 0) }) },
  ],
  [
    "skips a line at a page's end",
    {
      store: (store) => ({
        read: async (ref, log, cursor) => {
          const page = await store.read(ref, log, cursor);
          return page.isEnd ? page : { ...page, lines: page.lines.slice(0, -1) };
        },
      }),
    },
  ],
  [
    "accepts any cursor",
    {
      store: (store) => ({
        read: (ref, log, cursor) =>
          store.read(ref, log, cursor).catch(() => store.read(ref, log, undefined)),
      }),
    },
  ],
  [
    "lists the oldest first",
    { store: (store) => ({ list: async (query) => (await store.list(query)).toReversed() }) },
  ],
  [
    "lists claimed threads as runnable",
    {
      store: (_, memory) => ({
        runnable: (options) => {
          const free = new Memory({ now: () => Infinity });
          for (const [id, thread] of memory.threads) free.threads.set(id, thread);
          return memoryStore(free).runnable(options);
        },
      }),
    },
  ],
  [
    "lists unrelated threads in a family",
    { store: (store) => inIndex(store.index, { relatives: async () => await store.list() }) },
  ],
  [
    "keeps the index entry of a removed thread",
    {
      store({ index }) {
        const kept = new Map<string, IndexEntry>();
        return inIndex(index, {
          keep: async ({ threadId }, entry) => void kept.set(threadId, entry),
          entries: async (refs) =>
            new Map([...kept].filter(([id]) => refs.some(({ threadId }) => threadId === id))),
        });
      },
    },
  ],
  ["forgets postponed threads", { store: () => ({ postpone: async () => undefined }) }],
  [
    "starts to watch after `ready`",
    {
      store: (store) => ({
        async *watch(signal, ref) {
          yield { kind: "ready" };
          await moment();
          for await (const change of store.watch(signal, ref)) {
            if (change.kind !== "ready") yield change;
          }
        },
      }),
    },
  ],
  [
    "reports changes before they are readable",
    {
      claim: (claim, memory) => ({
        append: async (...given) => {
          memory.notify({ kind: "thread", ref: claim.ref });
          await moment();
          const { listeners } = memory;
          const heard = [...listeners];
          listeners.clear();
          const appended = claim.append(...given);
          for (const listener of heard) listeners.add(listener);
          return appended;
        },
      }),
    },
  ],
  ["shows half a record", torn({ isShown: true })],
  ["does not report the bytes that it cuts off", torn({ isReported: false })],
  ["opens a damaged log", { under: () => ({ damage: async () => undefined }) }],
];

/** Returns the first rule that a store breaks; null if it breaks none. */
async function brokenRule(changes: Changes): Promise<string | null> {
  for (const { name, check } of storeContract()) {
    // Fail a rule that would wait forever, for example for a change that is never reported.
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error("timeout")), 2000).unref();
    });
    try {
      await Promise.race([check(underTest(changes)), late]);
    } catch {
      return name;
    }
  }
  return null;
}

test.each(sound)("a store that %s keeps all rules", async (_, changes) => {
  for (const { check } of storeContract()) await check(underTest(changes));
});

test.each(broken)("a store that %s breaks a rule", async (_, changes) => {
  expect(await brokenRule(changes)).not.toBeNull();
});
