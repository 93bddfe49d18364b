import { expect, test } from "bun:test";
import fc from "fast-check";
import { allowed } from "./environment.ts";
import { Lines } from "./lines.ts";
import { maskOf } from "./mask.ts";
import { HeadAndTail } from "./tail.ts";

/** A value in pieces, cut at arbitrary places. */
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

test("lines are the same wherever the chunks are cut, also within a character", () => {
  fc.assert(
    fc.property(pieces, ({ text, chunks }) => {
      const whole = text.split("\n");
      if (whole.at(-1) === "") whole.pop();
      expect(linesOf(chunks).lines).toEqual(whole);
    }),
  );
});

test("a line may end as on Windows, and one that is too long is left out and told", () => {
  const chunk = Buffer.from(`a\r\n${"x".repeat(11)}\nb`);
  expect(linesOf([chunk], 10)).toEqual({ lines: ["a", "b"], long: 1 });
});

test("the beginning and the end are kept, and what is left out is counted", () => {
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

const secret = "abcabcabd";
const {
  text: mask,
  value,
  stream,
} = maskOf({ MY_KEY: secret, PLAIN: "plainplain", A_KEY: "short" });

test("no secret gets through a stream, wherever it is cut, and nothing else is lost", () => {
  const parts = fc.array(fc.oneof(fc.constantFrom(secret, "abc", "ab", "abd", "x"), fc.string()));
  fc.assert(
    fc.property(parts, fc.array(fc.nat(200)), (words, cuts) => {
      const whole = words.join("");
      const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length];
      places.sort((a, b) => a - b);
      const masked = stream();
      let out = "";
      for (const [at, end] of places.slice(1).entries()) {
        out += masked.push(whole.slice(places[at], end));
      }
      out += masked.end();
      expect(out).toBe(mask(whole));
    }),
  );
});

test("the values of secrets are masked in texts and in JSON, and no others", () => {
  expect(mask(`${secret} plainplain short`)).toBe("*** plainplain short");
  expect(value({ a: [secret, 1, null], b: `x${secret}` })).toEqual({
    a: ["***", 1, null],
    b: "x***",
  });
  expect(value(undefined)).toBeUndefined();
  const pem = maskOf({ PRIVATE_KEY: 'line one is "long"\nline two is too' });
  expect(pem.text("see line two is too")).toBe("see ***");
  expect(pem.value({ key: 'line one is "long"\nline two is too' })).toEqual({ key: "***" });
});

test("headers are secrets by their own names", () => {
  const headers = "X-Team: the-builders\nAuthorization: Bearer abc12345678";
  const { text } = maskOf({ ANTHROPIC_CUSTOM_HEADERS: headers });
  expect(text("the-builders have abc12345678")).toBe("the-builders have ***");
});

test("a command gets what is no secret, and what its list names", () => {
  const env = { PATH: "/bin", HOME: "/h", A_KEY: "1", A_URL: "2", B_KEY: "3" };
  expect(allowed(env, ["A_*", "B"])).toEqual({ PATH: "/bin", HOME: "/h", A_KEY: "1", A_URL: "2" });
});
