import { expect, test } from "bun:test";
import fc from "fast-check";
import { setPath } from "../target/target.ts";
import { Sizes } from "./variables.ts";

test("a value of 10 KB of JSON is shown as a copy, a longer one as its beginning", () => {
  const sizes = new Sizes();
  const small = { list: [1, 2, 3] };
  expect(sizes.shown(small)).toEqual(small);
  expect(sizes.shown(small)).not.toBe(small);
  const large = Array.from({ length: 5000 }, (_, index) => ({ index }));
  const json = JSON.stringify(large);
  expect(sizes.shown(large)).toEqual({
    _truncated: true,
    type: "object",
    length: json.length,
    preview: `${json.slice(0, 200)}...`,
  });
});

test("the length of a value's JSON is counted write by write, whatever is written where", () => {
  const segment = fc.oneof(
    fc.nat({ max: 4 }),
    fc.constantFrom("a", "b", 'a "quoted" key', "ü", "𝄞"),
  );
  const write = fc.record({
    path: fc.array(segment, { minLength: 1, maxLength: 3 }),
    value: fc
      .jsonValue({ maxDepth: 2 })
      .map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  });
  // Long enough that its length is counted from the first write on.
  const text = "x".repeat(11_000);
  fc.assert(
    fc.property(fc.array(write, { maxLength: 20 }), (writes) => {
      const sizes = new Sizes();
      const owned = new WeakSet<object>();
      let root: unknown = { text };
      sizes.shown(root);
      for (const { path, value } of writes) {
        const place = ["root", ...path];
        try {
          root = sizes.count(root, place, value, () => setPath(root, place, value, owned));
        } catch {
          continue;
        }
        const json = JSON.stringify(root);
        expect(sizes.shown(root)).toMatchObject({
          length: json.length,
          preview: `${json.slice(0, 200)}...`,
        });
      }
    }),
    { numRuns: 500 },
  );
});
