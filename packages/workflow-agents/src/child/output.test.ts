import { expect, test } from "bun:test";
import fc from "fast-check";
import { allowed } from "./request.ts";
import { HeadAndTail, Lines } from "./output.ts";

/** Generates text in chunks of bytes that are cut at arbitrary places. */
const pieces = fc
  .tuple(fc.string({ unit: "binary", maxLength: 80 }), fc.array(fc.nat(100)))
  .map(([text, cuts]) => {
    const bytes = Buffer.from(text.replaceAll("\r", ""));
    const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
    places.sort((a, b) => a - b);
    const chunks = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
    return { text: bytes.toString(), bytes, chunks };
  });

function linesOf(chunks: Uint8Array[], most = 1000): { lines: string[]; long: number } {
  const lines: string[] = [];
  let long = 0;
  const cutter = new Lines(
    most,
    (line) => lines.push(line),
    () => (long += 1),
  );
  for (const chunk of chunks) cutter.add(chunk);
  cutter.end();
  return { lines, long };
}

test("lines do not depend on the places where chunks are cut, even within a character", () => {
  fc.assert(
    fc.property(pieces, ({ text, chunks }) => {
      const whole = text.split("\n");
      if (whole.at(-1) === "") whole.pop();
      expect(linesOf(chunks).lines).toEqual(whole);
    }),
  );
});

test("lines may end with CR LF, and a line that is too long is left out and reported", () => {
  const chunk = Buffer.from(`a\r\n${"x".repeat(11)}\nb`);
  expect(linesOf([chunk], 10)).toEqual({ lines: ["a", "b"], long: 1 });
});

test("a long output keeps its beginning and end, and states the number of bytes left out", () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 2, max: 60 }), ({ bytes, chunks }, most) => {
      const kept = new HeadAndTail(most);
      for (const chunk of chunks) kept.add(chunk);
      expect(kept.length).toBe(bytes.length);
      const half = Math.floor(most / 2);
      if (bytes.length <= 2 * half) return expect(kept.text()).toBe(bytes.toString());
      const head = bytes.subarray(0, half).toString();
      const tail = bytes.subarray(-half).toString();
      const gap = `[truncated: ${bytes.length - 2 * half} of ${bytes.length} bytes left out here]`;
      expect(kept.text()).toBe(`${head}\n${gap}\n${tail}`);
    }),
  );
});

test("a command gets the harmless variables and the listed variables", () => {
  const env = { PATH: "/bin", HOME: "/h", A_KEY: "1", A_URL: "2", B_KEY: "3" };
  expect(allowed(env, ["A_*", "B"])).toEqual({ PATH: "/bin", HOME: "/h", A_KEY: "1", A_URL: "2" });
});
