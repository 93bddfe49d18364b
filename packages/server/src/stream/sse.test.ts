import { expect, test } from "bun:test";
import { Ring, sseBytes } from "./sse.ts";

const message = (number: number, length = 100) => ({
  cursor: `c${number}`,
  bytes: new Uint8Array(length),
});

test("a listener finds the message after its cursor, even before the first and after the last message", () => {
  const ring = new Ring("c5", 1000);
  expect(ring.after("c5")).toBe(0);
  ring.push(message(6));
  ring.push(message(8));
  expect(["c5", "c6", "c8"].map((cursor) => ring.after(cursor))).toEqual([0, 1, 2]);
  expect(ring.after("c7")).toBeNull();
  expect(ring.piece(1)).toMatchObject({ cursor: "c8", next: 2, last: false });
  expect(ring.piece(2)).toBeNull();
});

test("of several messages with one cursor, the last counts", () => {
  const ring = new Ring("", 1000);
  ring.push(message(1));
  ring.push(message(1));
  expect(ring.after("c1")).toBe(2);
});

test("the oldest messages are dropped above the limit, with their numbers", () => {
  const ring = new Ring("c0", 250);
  for (let number = 1; number <= 6; number += 1) ring.push(message(number));
  expect(ring.next).toBe(6);
  expect(ring.after("c3")).toBeNull();
  expect(ring.after("c4")).toBe(4);
  expect([3, 4, 5, 6].map((number) => ring.reaches(number))).toEqual([false, true, true, true]);
  expect(ring.piece(4)?.cursor).toBe("c6");
});

test("a message larger than the limit is held until the next message", () => {
  const ring = new Ring("c0", 250);
  ring.push(message(1, 10_000));
  expect(ring.piece(0)?.cursor).toBe("c1");
  ring.push(message(2));
  expect(ring.reaches(0)).toBe(false);
  expect(ring.piece(1)?.cursor).toBe("c2");
});

test("a piece has the available messages up to 64 KB, and ends with the last message", () => {
  const ring = new Ring("c0", 1_000_000);
  for (let number = 1; number <= 3; number += 1) ring.push(message(number, 30_000));
  ring.push({ ...message(4), last: true });
  ring.push(message(5));
  const piece = ring.piece(0);
  expect(piece).toMatchObject({ cursor: "c3", next: 3, last: false });
  expect(piece?.bytes).toHaveLength(90_000);
  expect(ring.piece(3)).toMatchObject({ cursor: "c4", next: 4, last: true });
});

test("a piece omits messages up to a number, and unsent messages", () => {
  const ring = new Ring("c0", 1000);
  for (const seq of [1, 2, 3]) ring.push({ ...message(seq), seq });
  ring.push(message(4, 0));
  expect(ring.piece(0, 2)).toMatchObject({ cursor: "c4", next: 4 });
  expect(ring.piece(0, 2)?.bytes).toHaveLength(100);
  expect(ring.piece(0, 3)?.bytes).toHaveLength(0);
});

test("a name with line breaks makes one message", () => {
  const bytes = sseBytes("a\r\nid: 9\n\nevent: end", { text: "b\r\nevent: end" }, 3);
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
  expect(lines.map((line) => line.split(":")[0])).toEqual(["event", "data", "id", "", ""]);
  expect([lines[0], lines[2]]).toEqual(["event: a id: 9 event: end", "id: 3"]);
});
