import { expect, test } from "bun:test";
import fc from "fast-check";
import { Variables } from "./variables.ts";

test("a value of up to 10 KB of JSON appears as a copy, and a longer value as its beginning", () => {
  const variables = new Variables({ $a: null });
  const small = { list: [1, 2, 3] };
  const change = variables.write({ path: ["$a"], value: small, seq: 1 });
  expect(change).toEqual({ oldValue: null, newValue: small });
  expect(change?.newValue).not.toBe(small);
  const large = Array.from({ length: 5000 }, (_, index) => ({ index }));
  const json = JSON.stringify(large);
  expect(variables.write({ path: ["$a"], value: large, seq: 2 })).toEqual({
    oldValue: small,
    newValue: {
      _truncated: true,
      type: "object",
      length: json.length,
      preview: `${json.slice(0, 200)}...`,
    },
  });
});

test("the length of a value's JSON is updated with each write, to any path", () => {
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
  // This text is long enough that its length is tracked from the first write on.
  const text = "x".repeat(11_000);
  fc.assert(
    fc.property(fc.array(write, { maxLength: 20 }), fc.boolean(), (writes, isNested) => {
      // The written value comes before or after the long text.
      const values: Record<string, unknown> = { $v: isNested ? { root: {}, text } : { text } };
      const variables = new Variables(values);
      variables.write({ path: ["$v", "first"], value: 1, seq: 1 });
      for (const { path, value } of writes) {
        const place = isNested ? ["$v", "root", ...path] : ["$v", ...path];
        let change;
        try {
          change = variables.write({ path: place, value, seq: 2 });
        } catch {
          continue;
        }
        const json = JSON.stringify(values.$v);
        if (change === null) continue;
        expect(change.newValue).toMatchObject({
          length: json.length,
          preview: `${json.slice(0, 200)}...`,
        });
      }
    }),
    { numRuns: 500 },
  );
});
