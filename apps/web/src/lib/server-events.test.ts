import { expect, test } from "bun:test";
import { eventsIn } from "./server-events.ts";

test("events arrive whole, also when their text is split, and comments are omitted", async () => {
  const text = `event: step\nid: 1\ndata: ${"a".repeat(40)}\n\n: a comment\n\nevent: end\ndata: {}\n\n`;
  const whole = [
    { name: "step", data: "a".repeat(40), cursor: "1" },
    { name: "end", data: "{}", cursor: null },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(stream) {
        for (const piece of pieces) stream.enqueue(new TextEncoder().encode(piece));
        stream.close();
      },
    });
    expect(await Array.fromAsync(eventsIn(body))).toEqual(whole);
  }
});
