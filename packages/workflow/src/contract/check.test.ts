import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { checkResult, checkStep } from "./check.ts";
import { maxJsonDepth, maxJsonLength } from "./json.ts";

const withMeta = (meta: unknown) => ({ role: "coder", content: "done", meta });
const reasonOf = (value: unknown): string => {
  const checked = checkStep(value);
  return checked.ok ? `accepted as ${checked.json}` : checked.reason;
};
const metaReason = (files: unknown): string => reasonOf(withMeta({ files }));
const jsonOf = (value: unknown): string => {
  const checked = checkStep(value);
  return checked.ok ? checked.json : `refused: ${checked.reason}`;
};
const nested = (levels: number): unknown => {
  let value: unknown = {};
  for (let i = 1; i < levels; i++) value = { a: value };
  return value;
};

describe("a step", () => {
  test("is returned as JSON and as a deep copy when it is valid", () => {
    const files = ["a.ts"];
    const checked = checkStep(withMeta({ files }));
    files.push("b.ts");
    expect(checked).toEqual({
      ok: true,
      step: { role: "coder", content: "done", meta: { files: ["a.ts"] } },
      json: '{"role":"coder","content":"done","meta":{"files":["a.ts"]}}',
    });
  });

  test("loses keys other than role, content and meta", () => {
    expect(jsonOf({ ...withMeta({}), timestamp: 1, cost: 2n })).toBe(
      '{"role":"coder","content":"done","meta":{}}',
    );
  });

  test("must be an object with a string role, a string content and a plain meta", () => {
    expect(reasonOf(undefined)).toBe("the step is undefined, not {role, content, meta}");
    expect(reasonOf([])).toBe("the step is an array, not {role, content, meta}");
    expect(reasonOf({ foo: 1 })).toBe("role is undefined, not a string");
    expect(reasonOf({ role: "a", meta: {} })).toBe("content is undefined, not a string");
    expect(reasonOf({ role: "a", content: 1n, meta: {} })).toBe(
      "content is a bigint, not a string",
    );
    expect(reasonOf(withMeta(undefined))).toBe("meta is undefined, not a plain object");
    expect(reasonOf(withMeta([]))).toBe("meta is an array, not a plain object");
    expect(reasonOf(withMeta(new Map()))).toBe("meta is an instance of Map, not a plain object");
  });

  test("that is a generator is refused with the advice to write yield*", () => {
    const inner = (async function* () {})();
    expect(reasonOf(inner)).toBe("the step is a generator: write yield* instead of yield");
  });

  test("may not have an empty, malformed or reserved role", () => {
    const roleReason = (role: string) => reasonOf({ role, content: "", meta: {} });
    expect(roleReason("")).toBe("role is empty");
    expect(roleReason("a\nb")).toBe('role "a\\nb" has a control character');
    expect(roleReason("a\u2028b")).toBe('role "a\\u2028b" has a control character');
    for (const role of ["__input__", "__start__", "__end__", "__other", "__proto__"]) {
      expect(roleReason(role)).toContain("is reserved");
    }
    expect(roleReason("constructor")).toContain("accepted");
    expect(roleReason("_a")).toContain("accepted");
  });
});

describe("meta", () => {
  test("is refused for values that JSON would lose, with their path", () => {
    expect(metaReason(["a", "b", () => 1])).toBe("meta.files[2] is a function");
    expect(metaReason({ "a b": Symbol("s") })).toBe('meta.files["a b"] is a symbol');
    expect(metaReason(1n)).toBe("meta.files is a bigint");
    expect(metaReason(Number.NaN)).toBe("meta.files is NaN");
    expect(metaReason(-Infinity)).toBe("meta.files is -Infinity");
    expect(metaReason([undefined])).toBe("meta.files[0] is undefined");
    expect(metaReason(Array(3))).toBe("meta.files[0] is undefined");
    expect(metaReason(new Date(0))).toBe("meta.files is an instance of Date, not a plain object");
    expect(metaReason(Buffer.from("a"))).toContain("an instance of Buffer");
    expect(metaReason(new (class Plan {})())).toContain("an instance of Plan");
    expect(metaReason(Promise.resolve())).toContain("an instance of Promise");
    expect(metaReason(Object("text"))).toContain("an instance of String");
    expect(metaReason({ toJSON: () => "other" })).toBe("meta.files.toJSON is a function");
  });

  test("loses undefined, symbol and hidden properties, as in JSON", () => {
    const meta = { a: undefined, [Symbol("s")]: 1, b: "x".match(/x/) };
    Object.defineProperty(meta, "hidden", { value: 1 });
    expect(jsonOf(withMeta(meta))).toContain('"meta":{"b":["x"]}');
  });

  test("keeps __proto__, lone surrogates, line separators and the smallest numbers", () => {
    const meta = JSON.parse('{"__proto__":{"x":1},"n":5e-324,"s":"\\ud800"}') as object;
    const checked = checkStep(withMeta({ meta, line: "\u2028" }));
    expect(checked.ok && checked.step.meta).toEqual({ meta, line: "\u2028" });
    expect(checked.ok && checked.json).toContain('{"__proto__":{"x":1},"n":5e-324,"s":"\\ud800"}');
    expect(checked.ok && Object.hasOwn(checked.step.meta.meta as object, "__proto__")).toBe(true);
  });

  test("is returned with 0 instead of -0", () => {
    expect(jsonOf(withMeta({ n: -0 }))).toContain('{"n":0}');
  });

  test("may be an object without a prototype", () => {
    expect(jsonOf(withMeta(Object.assign(Object.create(null), { a: 1 })))).toContain('{"a":1}');
  });

  test("is refused with the path when it contains itself", () => {
    const ring: Record<string, unknown> = {};
    ring.next = { back: [ring] };
    expect(metaReason(ring)).toBe("meta.files.next.back[0] contains itself");
  });

  test("may contain the same value twice", () => {
    const shared = { a: 1 };
    expect(jsonOf(withMeta({ x: shared, y: shared }))).toContain('{"x":{"a":1},"y":{"a":1}}');
  });

  test(`may be nested ${maxJsonDepth} levels deep and no deeper`, () => {
    expect(jsonOf(withMeta(nested(maxJsonDepth)))).not.toContain("refused");
    expect(reasonOf(withMeta(nested(maxJsonDepth + 1)))).toContain("is nested deeper than 1000");
    expect(reasonOf(withMeta(nested(100_000)))).toContain("is nested deeper than 1000");
  });

  test("with too long JSON is refused before the JSON is complete", () => {
    let bomb: unknown = "x".repeat(1000);
    for (let i = 0; i < 100; i++) bomb = [bomb, bomb];
    expect(metaReason(bomb)).toContain("longer than 64 Mi characters");
    expect(metaReason("x".repeat(maxJsonLength + 1))).toContain("longer than 64 Mi characters");
    expect(reasonOf({ role: "a", content: "x".repeat(maxJsonLength), meta: {} })).toBe(
      "the step is longer than 64 Mi characters",
    );
  });

  test("with unstable getters is read once and written as read", () => {
    let reads = 0;
    const sly = {
      get value() {
        reads += 1;
        return reads === 1 ? "checked" : () => "not checked";
      },
    };
    expect(jsonOf(withMeta(sly))).toContain('{"value":"checked"}');
    expect(reads).toBe(1);
    const proxy = new Proxy({ a: 1 }, { get: (_, key) => (key === "a" ? reads++ : undefined) });
    expect(jsonOf(withMeta(proxy))).toContain('{"a":1}');
  });

  test("that throws when it is read is refused with the path", () => {
    const angry = {
      get value(): never {
        throw new Error("no\nway");
      },
    };
    expect(metaReason(angry)).toBe("meta.files.value can't be read: no way");
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(reasonOf(proxy)).toContain("the step can't be read");
    expect(metaReason(proxy)).toContain("meta.files can't be read");
  });

  test("is written correctly after a bundle has replaced JSON.stringify and added toJSON", () => {
    const spoiled = Array.prototype as { toJSON?: unknown };
    const { stringify } = JSON;
    try {
      spoiled.toJSON = () => "stolen";
      JSON.stringify = () => "stolen";
      expect(jsonOf(withMeta({ list: [1] }))).toContain('{"list":[1]}');
    } finally {
      delete spoiled.toJSON;
      JSON.stringify = stringify;
    }
  });

  test("gives the same text as JSON.stringify for every JSON value", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (meta) => {
        expect(jsonOf(withMeta(meta))).toBe(JSON.stringify(withMeta(meta)));
      }),
    );
  });

  test("never makes the check throw or return invalid JSON", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
      withObjectString: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        for (const checked of [checkStep(withMeta({ value })), checkStep(value)]) {
          if (checked.ok) expect(JSON.parse(checked.json)).toEqual(checked.step);
          else expect(checked.reason).toMatch(/^[^\n]+$/);
        }
      }),
    );
  });
});

describe("a __wait__ step", () => {
  const waitReason = (meta: object) => reasonOf({ role: "__wait__", content: "Ship it?", meta });

  test("names the expected answer, and may have a schema, a time and other keys", () => {
    expect(waitReason({ for: "approval" })).toContain("accepted");
    const more = {
      for: "a",
      schema: { type: "string" },
      expiresAt: 5,
      onTimeout: null,
      token: "t",
    };
    expect(waitReason(more)).toContain("accepted");
    expect(waitReason({ for: "a", schema: false })).toContain("accepted");
  });

  test("is refused when a key has the wrong type", () => {
    expect(waitReason({})).toBe("meta.for is undefined, not a string");
    expect(waitReason({ for: "" })).toBe("meta.for is empty");
    expect(waitReason({ for: "a", schema: [] })).toBe("meta.schema is an array, not a JSON Schema");
    expect(waitReason({ for: "a", expiresAt: "5" })).toContain("meta.expiresAt is a string");
    expect(waitReason({ for: "a", expiresAt: Number.NaN })).toBe("meta.expiresAt is NaN");
  });
});

describe("a result", () => {
  const resultReason = (value: unknown): string => {
    const checked = checkResult(value);
    return checked.ok ? "accepted" : checked.reason;
  };

  test("keeps its return code from 0 to 255 and its summary, and loses unknown keys", () => {
    expect(checkResult({ returnCode: -0, summary: "s", extra: 1n })).toEqual({
      ok: true,
      result: { returnCode: 0, summary: "s" },
    });
    expect(resultReason({ returnCode: 255, summary: "" })).toBe("accepted");
  });

  test("is refused when its return code or summary is invalid or can't be read", () => {
    expect(resultReason(undefined)).toBe("the result is undefined, not {returnCode, summary}");
    expect(resultReason({ summary: "s" })).toBe("returnCode is undefined, not a number");
    for (const returnCode of [256, -1, 1.5, Number.NaN]) {
      expect(resultReason({ returnCode, summary: "s" })).toContain(`returnCode is ${returnCode}`);
    }
    expect(resultReason({ returnCode: 0 })).toBe("summary is undefined, not a string");
    const throwing = Object.defineProperty({}, "returnCode", {
      get() {
        throw new Error("no");
      },
    });
    expect(resultReason(throwing)).toBe("the result can't be read: no");
  });
});
