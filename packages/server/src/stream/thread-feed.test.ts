import { expect, test } from "bun:test";
import type { Host, Observed, ObserveOptions, Step, ThreadRef } from "@uncaged/workflow/host";
import { sseBytes } from "./sse.ts";
import { type Serializer, ThreadFeeds } from "./thread-feed.ts";
import { Together } from "./together.ts";

const ref: ThreadRef = { threadId: "01JTHREAD00000000000000000", hash: "0000000000000" };
const stepOf = (number: number): Observed => {
  const step: Step = { role: "count", content: String(number), meta: {}, timestamp: number };
  return { kind: "step", number, step, cursor: `c${number}` };
};

const serializer: Serializer = {
  name: "numbers",
  message: ({ cursor }) => ({ cursor, bytes: sseBytes("step", cursor, cursor) }),
  status: () => null,
  over: () => sseBytes("over", null),
};

/** Returns a host of one thread. `observe` returns the items after a cursor. */
function hostOf(
  observe: (cursor: string, options: ObserveOptions) => AsyncGenerator<Observed>,
): Host {
  const host: Partial<Host> = {
    observe: (_, cursor = "", options = {}) => observe(cursor, options),
  };
  return host as Host;
}

const textOf = (bytes: Uint8Array | null): string | null =>
  bytes && new TextDecoder().decode(bytes);

test("a late listener catches up by its own read, and receives the messages that the feed sends meanwhile", async () => {
  const isLooking = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  const feeds = new ThreadFeeds(
    hostOf(async function* (cursor, { until }) {
      const isOwn = until === "now";
      // The feed begins after the first step. A listener from the start makes its own observation of two steps.
      if (!isOwn) for (const number of [2, 3]) yield stepOf(number);
      if (!isOwn) return;
      if (cursor === "") return yield* [stepOf(1), stepOf(2)];
      isLooking.resolve();
      await mayGoOn.promise;
    }),
  );
  const first = feeds.listen(ref, serializer, { cursor: "c1" });
  const late = feeds.listen(ref, serializer, {});
  expect(textOf(await late.next())).toContain("c2");
  const next = late.next();
  await isLooking.promise;
  expect(textOf(await first.next())).toContain("c3");
  mayGoOn.resolve();
  expect(textOf(await next)).toContain("c3");
});

test("if one of several threads can't be read, its stream ends with the reason and the other streams continue", async () => {
  const broken = Object.assign(new Error("the disk is gone"), { code: "EIO" });
  const feeds = new ThreadFeeds(
    hostOf(async function* () {
      yield stepOf(1);
      throw broken;
    }),
  );
  const endless = Promise.withResolvers<null>();
  const other = { next: () => endless.promise, close: () => endless.resolve(null) };
  const together = new Together([
    [0, other],
    [1, feeds.listen(ref, serializer, {})],
  ]);
  let text = "";
  while (!text.includes("refused")) text += textOf(await together.next()) ?? "";
  expect(text).toContain("c1");
  expect(text).toContain("the disk is gone");
  const rest = together.next();
  together.close();
  expect(await rest).toBeNull();
});
