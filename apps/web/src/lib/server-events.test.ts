import { expect, test } from "bun:test";
import { eventsIn } from "./server-events.ts";

test("events arrive whole, wherever their text is split, and comments are left out", async () => {
  const text = `event: step\nid: 1\ndata: ${"a".repeat(40)}\n\n: a comment\n\nevent: end\ndata: {}\n\n`;
  const whole = [
    { name: "step", data: "a".repeat(40), cursor: "1" },
    { name: "end", data: "{}", cursor: null },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    const streamed = ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece)));
    expect(
      await Array.fromAsync(eventsIn(streamed as ReadableStream<Uint8Array<ArrayBuffer>>)),
    ).toEqual(whole);
  }
});
