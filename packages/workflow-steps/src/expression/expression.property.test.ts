import { expect, test } from "bun:test";
import fc from "fast-check";
import { evaluate, namesIn, problemIn } from "./expression.ts";
import { ExpressionError } from "./parse.ts";
import { sameValue } from "./value.ts";

type Outcome = { value: unknown } | { failed: true };

const failed: Outcome = { failed: true };
const values: Record<string, unknown> = {
  $n: 7,
  $text: "12",
  $word: "false",
  $list: [1, "b", null, { k: 2 }],
  $o: { a: { b: [3] }, "": 0, k: "a" },
  $none: null,
  goal: "go",
};
const scope = (name: string) => (Object.hasOwn(values, name) ? values[name] : undefined);

/** An expression as text, with its expected outcome from an independent calculation. */
type Sample = { text: string; wanted: Outcome };

const truth = (value: unknown) =>
  ![false, 0, "", "false", null, undefined].includes(value as never);

function numeric(value: unknown): number | null {
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  if (value === null || value === undefined) return 0;
  if (typeof value !== "string" || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

const isBlank = (value: unknown) => value === null || value === undefined;

const asText = (value: unknown) =>
  typeof value === "string" ? value : isBlank(value) ? "" : JSON.stringify(value);

function reckoned(sign: string, a: unknown, b: unknown): Outcome {
  const joins = typeof a === "string" || typeof b === "string";
  if (sign === "+" && joins) return { value: asText(a) + asText(b) };
  const [x, y] = [numeric(a), numeric(b)];
  if (x === null || y === null || (sign === "/" && y === 0)) return failed;
  const value = sign === "+" ? x + y : sign === "-" ? x - y : sign === "*" ? x * y : x / y;
  return Number.isFinite(value) ? { value: value === 0 ? 0 : value } : failed;
}

function equal(a: unknown, b: unknown): boolean {
  if (isBlank(a) || isBlank(b)) return isBlank(a) && isBlank(b);
  if (typeof a === "number" && typeof b === "string") return `${a}` === b;
  if (typeof a === "string" && typeof b === "number") return a === `${b}`;
  return typeof a === typeof b && JSON.stringify(a) === JSON.stringify(b);
}

function ordered(sign: string, a: unknown, b: unknown): boolean {
  const both = typeof a === "string" && typeof b === "string";
  const blank = [a, b].some((side) => isBlank(side) || typeof side === "object");
  const [x, y] = both ? [a, b] : blank ? [null, null] : [numeric(a), numeric(b)];
  if (x === null || y === null) return false;
  return sign === "<" ? x < y : sign === "<=" ? x <= y : sign === ">" ? x > y : x >= y;
}

function binary(sign: string, left: Outcome, right: Outcome): Outcome {
  if ("failed" in left) return failed;
  if (sign === "&&") return truth(left.value) ? right : left;
  if (sign === "||") return truth(left.value) ? left : right;
  if ("failed" in right) return failed;
  if (sign === "==") return { value: equal(left.value, right.value) };
  if (sign === "!=") return { value: !equal(left.value, right.value) };
  if (sign.startsWith("<") || sign.startsWith(">")) {
    return { value: ordered(sign, left.value, right.value) };
  }
  return reckoned(sign, left.value, right.value);
}

function signed(sign: string, { text, wanted }: Sample): Sample {
  const of = (): Outcome => {
    if ("failed" in wanted) return failed;
    if (sign === "!") return { value: !truth(wanted.value) };
    const number = numeric(wanted.value);
    return number === null ? failed : { value: number === 0 ? 0 : -number };
  };
  return { text: `${sign}(${text})`, wanted: of() };
}

function keyed({ text, wanted }: Sample, key: Sample): Sample {
  const of = (): Outcome => {
    if ("failed" in wanted || "failed" in key.wanted) return failed;
    const [base, at] = [wanted.value, key.wanted.value];
    if (typeof at !== "string" && typeof at !== "number") return { value: undefined };
    if (isBlank(base) || !["object", "string"].includes(typeof base)) return { value: undefined };
    const own = Object.getOwnPropertyNames(Object(base)).includes(`${at}`);
    const value = own ? (base as Record<string, unknown>)[at] : undefined;
    if (!own || typeof base !== "string" || at === "length") return { value };
    // The index of a high surrogate returns the whole character, and the next index returns an empty text.
    const units = Array.from(base).flatMap((one) => (one.length === 1 ? one : [one, ""]));
    return { value: units[Number(at)] };
  };
  return { text: `(${text})[${key.text}]`, wanted: of() };
}

const literal: fc.Arbitrary<Sample> = fc.oneof(
  fc
    .constantFrom("$n", "$text", "$word", "$list", "$o", "$none", "goal", "$missing")
    .map((text) => ({
      text,
      wanted: { value: scope(text) },
    })),
  fc.constantFrom<unknown>(true, false, null, 0, 1, 2, 0.5, 1e300).map((value) => ({
    text: JSON.stringify(value),
    wanted: { value },
  })),
  fc
    .oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("a", "k", "length", "0", "12", "toString"),
    )
    .map((value) => ({ text: JSON.stringify(value), wanted: { value } })),
);

const signs = ["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"];

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    literal,
    fc
      .tuple(fc.constantFrom(...signs), tie("sample"), tie("sample"))
      .map(([sign, left, right]) => ({
        text: `(${left.text}) ${sign}\n(${right.text})`,
        wanted: binary(sign, left.wanted, right.wanted),
      })),
    fc.tuple(fc.constantFrom("!", "-"), tie("sample")).map(([sign, of]) => signed(sign, of)),
    fc.tuple(tie("sample"), tie("sample")).map(([base, key]) => keyed(base, key)),
  ),
}));

test("a random expression has the value of the reference implementation", () => {
  fc.assert(
    fc.property(sample, ({ text, wanted }) => {
      fc.pre(problemIn(text)?.message.includes("levels") !== true);
      if ("failed" in wanted) expect(() => evaluate(text, scope)).toThrow(ExpressionError);
      else expect(evaluate(text, scope)).toEqual(wanted.value as never);
    }),
    { numRuns: 5000 },
  );
});

const powers = [["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["+", "-"], ["*", "/"]];

/** Returns the value of operators without parentheses. Applies the last operator of the lowest precedence last. */
function unparenthesised(first: number, rest: readonly (readonly [string, number])[]): Outcome {
  for (const signsOfPower of powers) {
    const at = rest.findLastIndex(([sign]) => signsOfPower.includes(sign));
    const [sign, right] = rest[at] ?? [];
    if (sign === undefined || right === undefined) continue;
    const left = unparenthesised(first, rest.slice(0, at));
    return binary(sign, left, unparenthesised(right, rest.slice(at + 1)));
  }
  return { value: first };
}

test("operators have JavaScript's precedence and associate to the left", () => {
  const number = fc.integer({ min: -3, max: 3 });
  fc.assert(
    fc.property(number, fc.array(fc.tuple(fc.constantFrom(...signs), number)), (first, rest) => {
      const text = `${first}${rest.map(([sign, right]) => `${sign}${right}`).join("")}`;
      const wanted = unparenthesised(first, rest);
      if ("failed" in wanted) expect(() => evaluate(text, scope)).toThrow(ExpressionError);
      else expect(evaluate(text, scope)).toEqual(wanted.value as never);
    }),
    { numRuns: 2000 },
  );
});

test("every text has a value or throws an ExpressionError", () => {
  const piece = fc.constantFrom(
    ..."()[].!-+*/<>=&|'\"\\ $_a0e?,{}".split(""),
    "$n",
    "$o",
    "==",
    "&&",
    "||",
    ".a",
    "__proto__",
    "constructor",
    "null",
    "1e9",
    "\\u00",
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(piece, { maxLength: 30 }).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (source) => {
      const problem = problemIn(source);
      namesIn(source);
      try {
        evaluate(source, scope);
        expect(problem).toBeNull();
      } catch (error) {
        expect(error).toBeInstanceOf(ExpressionError);
        const { offset, message, code } = error as ExpressionError;
        expect(code === "EXPRESSION_INVALID").toBe(problem !== null);
        expect(offset).toBeGreaterThanOrEqual(0);
        expect(offset).toBeLessThanOrEqual(source.length);
        expect(message.split("\n")).toHaveLength(1);
      }
    }),
    { numRuns: 3000 },
  );
});

test("a text quoted as JSON evaluates to itself", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(evaluate(JSON.stringify(text), scope)).toBe(text);
    }),
  );
});

test("a JSON value equals its copy and no other value", () => {
  fc.assert(
    fc.property(fc.json(), fc.json(), (one, other) => {
      const [a, b]: unknown[] = [JSON.parse(one), JSON.parse(other)];
      expect(sameValue(a, JSON.parse(one))).toBe(true);
      expect(sameValue(a, b)).toBe(Bun.deepEquals(a, b));
    }),
  );
});
