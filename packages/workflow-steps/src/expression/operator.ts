import { isRounded } from "@uncaged/workflow/interpreter";
import { isPlain, numberIn, sameValue, toText } from "./value.ts";

export type Fail = (message: string, hint: string, cause?: unknown) => never;

export type Operation = (left: unknown, right: unknown, fail: Fail) => unknown;

const add = arithmetic(
  (a, b) => a + b,
  (a, b) => a + b,
);

/** The precedence of the operators that return one of their operands. */
export const choices: Readonly<Record<string, number>> = { "||": 1, "&&": 2 };

/** The other binary operators with their precedence. */
export const operations: Readonly<Record<string, { power: number; run: Operation }>> = {
  "==": { power: 3, run: equal },
  "!=": { power: 3, run: (left, right) => !equal(left, right) },
  "<": { power: 4, run: ordered((a, b) => a < b) },
  "<=": { power: 4, run: ordered((a, b) => a <= b) },
  ">": { power: 4, run: ordered((a, b) => a > b) },
  ">=": { power: 4, run: ordered((a, b) => a >= b) },
  "+": {
    power: 5,
    run: (left, right, fail) =>
      typeof left === "string" || typeof right === "string"
        ? textFor(left, fail) + textFor(right, fail)
        : add(left, right, fail),
  },
  "-": {
    power: 5,
    run: arithmetic(
      (a, b) => a - b,
      (a, b) => a - b,
    ),
  },
  "*": {
    power: 6,
    run: arithmetic(
      (a, b) => a * b,
      (a, b) => a * b,
    ),
  },
  "/": {
    power: 6,
    run: arithmetic((a, b, fail) => {
      if (b !== 0) return a / b;
      return fail("division by zero", "test the divisor first, as in $n > 0 && $a / $n");
    }),
  },
};

export const negative = (value: unknown, fail: Fail): number => 0 - numberFor(value, fail);

function equal(left: unknown, right: unknown): boolean {
  if (typeof left === "number" && typeof right === "string") return isDecimalOf(left, right);
  if (typeof left === "string" && typeof right === "number") return isDecimalOf(right, left);
  return sameValue(left, right);
}

const isDecimalOf = (number: number, text: string): boolean =>
  Number.isFinite(number) && String(number) === text;

function ordered(test: (a: number | string, b: number | string) => boolean): Operation {
  return (left, right) => {
    if (typeof left === "string" && typeof right === "string") return test(left, right);
    const a = typeof left === "boolean" ? Number(left) : numberIn(left);
    const b = typeof right === "boolean" ? Number(right) : numberIn(right);
    return a !== undefined && b !== undefined && test(a, b);
  };
}

function numberFor(value: unknown, fail: Fail): number {
  if (value === null || value === undefined) return 0;
  const number = typeof value === "boolean" ? Number(value) : numberIn(value);
  if (number !== undefined) {
    if (typeof value !== "string" || !isRounded(value.trim())) return number;
    const hint =
      "use the number as a text: a text can be joined and compared, but not computed with";
    return fail(`can't compute exactly with the integer ${value.trim()}`, hint);
  }
  return fail(
    `${kindOf(value)} is not a number`,
    "use numbers or numeric texts with - * /; + joins its operands if one of them is a text",
  );
}

function kindOf(value: unknown): string {
  if (typeof value === "string") {
    const part = value.length > 40 ? `${value.slice(0, 40)}…` : value;
    return `the text ${JSON.stringify(part.toWellFormed())}`;
  }
  if (Array.isArray(value)) return "an array";
  return isPlain(value) ? "an object" : `a value of type ${typeof value}`;
}

// JavaScript prints larger numbers with an exponent, which would hide their rounding.
const longestWritten = 1e21;

function arithmetic(
  result: (a: number, b: number, fail: Fail) => number,
  exact?: (a: bigint, b: bigint) => bigint,
): Operation {
  return (left, right, fail) => {
    const [a, b] = [numberFor(left, fail), numberFor(right, fail)];
    const value = result(a, b, fail);
    const isLong = !Number.isSafeInteger(value) && Math.abs(value) < longestWritten;
    if (exact && isLong && Number.isInteger(a) && Number.isInteger(b)) {
      const digits = String(exact(BigInt(a), BigInt(b)));
      if (isRounded(digits)) {
        const hint = "compute with smaller numbers";
        return fail(`the result ${digits} can't be kept exactly`, hint);
      }
    }
    // Adding 0 turns -0 into 0, as in JSON.
    if (Number.isFinite(value)) return value + 0;
    return fail("the result is not a finite number", "keep numbers below 1e308");
  };
}

function textFor(value: unknown, fail: Fail): string {
  try {
    return toText(value);
  } catch (error) {
    return fail(
      "a value can't be converted to JSON",
      "join texts, numbers and values that JSON can hold",
      error,
    );
  }
}
