import { describe, expect, test } from "bun:test";
import { parsing, writing } from "./json-slices.ts";
import { inSlices, type Sliced } from "./slices.ts";

function whole<Result>(work: Sliced<Result>): { result: Result; slices: number } {
  for (let slices = 1; ; slices += 1) {
    const { done, value } = work.next();
    if (done) return { result: value, slices };
  }
}

const item = (n: number) => ({ id: n, name: `item "${n}", \\ [{`, tags: ["a", "b"], on: null });
const items = Array.from({ length: 20_000 }, (_, n) => item(n));
const long = 'x"\\'.repeat(200_000);

const values: [string, unknown][] = [
  ["a short value", { a: [1, "b"] }],
  ["a long list", items],
  ["an object with many members", Object.fromEntries(items.map((one) => [`k${one.id}`, one]))],
  ["a long text in an object", { before: 1, long, after: [long, 2] }],
  ["long lists in an object", { a: items, "b\n": { c: items, d: [] }, e: "" }],
  ["a member named like a prototype", JSON.parse(`{"__proto__": [${"1,".repeat(50_000)}1]}`)],
  ["an empty list among long texts", [long, [], {}, long]],
];

describe("JSON in slices", () => {
  test.each(values)("%s is parsed like by JSON.parse", (_, value) => {
    for (const json of [JSON.stringify(value), ` ${JSON.stringify(value, null, 2)}\n`])
      expect(whole(parsing(json)).result).toEqual(value);
  });

  test.each(values)("%s is written so that it can be parsed", (_, value) => {
    expect(JSON.parse(whole(writing(value)).result)).toEqual(value);
  });

  test("a long text takes many slices", () => {
    expect(whole(parsing(JSON.stringify(items))).slices).toBeGreaterThan(10);
    expect(whole(writing(items)).slices).toBeGreaterThan(10);
  });

  test.each(["]", ",]", ",,1]", "}", "] x", "", " [1]]"])(
    "a long list that ends in %p is invalid, or as in JSON",
    (end) => {
      const json = `[${"12345,".repeat(30_000)}1${end}`;
      const read = (parse: () => unknown) => {
        try {
          return parse();
        } catch (error) {
          return error instanceof SyntaxError ? "invalid" : error;
        }
      };
      expect(read(() => whole(parsing(json)).result)).toEqual(read(() => JSON.parse(json)));
    },
  );

  test("a pause lets other tasks run", async () => {
    let ran = 0;
    const timer = setInterval(() => (ran += 1), 0);
    function* busy(): Sliced<string> {
      while (ran === 0) yield;
      return "done";
    }
    expect(await inSlices(busy())).toBe("done");
    clearInterval(timer);
  });

  test("an abort ends the work", async () => {
    const stop = new AbortController();
    function* endless(): Sliced<void> {
      for (;;) {
        stop.abort(new Error("stopped"));
        yield;
      }
    }
    expect(inSlices(endless(), stop.signal)).rejects.toThrow("stopped");
  });
});
