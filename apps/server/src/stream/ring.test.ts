import { expect, test } from "bun:test";
import { Ring } from "./ring.ts";
import type { SseMessage } from "./sse.ts";

const at = (data: number) => ({ data, info: 0 });
const message = (data: number, length = 10): SseMessage => ({
  position: at(data),
  bytes: new Uint8Array(length),
  last: false,
});

test("a reader finds the message behind where it is, also before the first and behind the last", () => {
  const ring = new Ring(at(5), 100);
  expect(ring.behind(at(5))).toBe(0);
  ring.push(message(6));
  ring.push(message(8));
  expect([5, 6, 8].map((data) => ring.behind(at(data)))).toEqual([0, 1, 2]);
  expect(ring.behind(at(7))).toBeNull();
  expect(ring.head).toEqual(at(8));
  expect(ring.at(1)?.position).toEqual(at(8));
  expect(ring.at(2)).toBeUndefined();
});

test("the oldest messages go when there is no more room, and their numbers with them", () => {
  const ring = new Ring(at(0), 25);
  for (let data = 1; data <= 5; data += 1) ring.push(message(data));
  expect(ring.behind(at(2))).toBeNull();
  expect(ring.behind(at(3))).toBe(3);
  expect([2, 3, 4, 5].map((number) => ring.reaches(number))).toEqual([false, true, true, true]);
  expect(ring.at(3)?.position).toEqual(at(4));
});

test("a message that is larger than all the room is kept until the next comes", () => {
  const ring = new Ring(at(0), 25);
  ring.push(message(1, 1000));
  expect(ring.at(0)?.position).toEqual(at(1));
  ring.push(message(2));
  expect(ring.reaches(0)).toBe(false);
  expect(ring.at(1)?.position).toEqual(at(2));
});
