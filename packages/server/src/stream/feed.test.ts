import { expect, test } from "bun:test";
import { Feed } from "./feed.ts";
import { merged } from "./merged.ts";
import { type Message, type Messages, messageOf } from "./streams.ts";

/** A feed of numbers. */
class Numbers extends Feed {
  watches = 0;
  #last = 0;

  protected get cursor(): string {
    return `c${this.#last}`;
  }

  protected reload(cursor: string): Message {
    return messageOf("reload", {}, cursor);
  }

  protected watch(): Promise<void> {
    this.watches += 1;
    this.begin(this.cursor);
    this.ready();
    return Promise.resolve();
  }

  add(length = 1): void {
    this.#last += 1;
    this.push(messageOf("number", "x".repeat(length), this.cursor));
  }
}

async function read(messages: Messages, count: number): Promise<string[]> {
  const all: string[] = [];
  while (all.length < count) {
    const { value } = await messages.next();
    if (value) all.push(`${value.event} ${value.id ?? value.data}`);
  }
  return all;
}

const open = new AbortController().signal;

test("a listener without a cursor gets reload first, and a listener with a kept cursor continues after that cursor", async () => {
  const feed = new Numbers();
  const first = feed.listen(undefined, open);
  expect(await read(first, 1)).toEqual(["reload c0"]);
  feed.add();
  feed.add();
  expect(await read(first, 2)).toEqual(["number c1", "number c2"]);
  expect(await read(feed.listen("c0", open), 2)).toEqual(["number c1", "number c2"]);
  expect(await read(feed.listen("c1", open), 1)).toEqual(["number c2"]);
  expect(await read(feed.listen("c7", open), 1)).toEqual(["reload c2"]);
  expect(feed.watches).toBe(1);
});

test("a listener with a cursor before the kept messages gets reload, and then misses nothing", async () => {
  const feed = new Numbers();
  const slow = feed.listen(undefined, open);
  await read(slow, 1);
  for (let n = 0; n < 5; n += 1) feed.add(400_000);
  expect(await read(slow, 1)).toEqual(["reload c5"]);
  feed.add();
  expect(await read(slow, 1)).toEqual(["number c6"]);
});

test("a message larger than the limit is kept until the next message", async () => {
  const feed = new Numbers();
  const listener = feed.listen(undefined, open);
  await read(listener, 1);
  feed.add(10_000_000);
  expect(await read(listener, 1)).toEqual(["number c1"]);
  feed.add();
  expect(await read(feed.listen("c0", open), 1)).toEqual(["reload c2"]);
});

test("an aborted listener ends, and the feed watches again for the next listener", async () => {
  const feed = new Numbers();
  const abort = new AbortController();
  const listener = feed.listen(undefined, abort.signal);
  await read(listener, 1);
  const rest = listener.next();
  abort.abort();
  expect((await rest).done).toBe(true);
  await read(feed.listen(undefined, open), 1);
  expect(feed.watches).toBe(2);
});

async function* failing(): Messages {
  yield messageOf("step", 1);
  throw Object.assign(new Error("the disk is gone"), { code: "EIO" });
}

test("if one of several sources fails, it ends with the reason, and the other sources continue", async () => {
  const feed = new Numbers();
  const both = merged([
    [0, feed.listen(undefined, open)],
    ["b", failing()],
  ]);
  const seen = await read(both, 5);
  expect(seen.slice(0, 4).toSorted()).toEqual(['of "b"', "of 0", "reload c0", "step 1"]);
  expect(seen[4]).toContain("the disk is gone");
  feed.add();
  expect(await read(both, 2)).toEqual(["of 0", "number c1"]);
});
