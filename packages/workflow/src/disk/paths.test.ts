import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  checkThreadId,
  checkWorkflowName,
  isHash,
  isThreadId,
  threadIdPattern,
} from "../contract/names.ts";

const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const hostile = [
  "",
  ".",
  "..",
  "../x",
  "a/b",
  "a\\b",
  "/etc/passwd",
  "C:",
  "a\0b",
  "a\nb",
  "a b",
  "-rf",
  "_x",
  ".x",
  "é",
  "ＡＢＣ",
  "a".repeat(65),
  "a".repeat(300),
  "con",
  "NUL.txt",
  "com1",
  "trailing.",
  "\u202eabc",
];

describe("a workflow's name", () => {
  for (const name of ["a", "A1", "review", "a.b-c_d", "0", "a".repeat(64), "console"]) {
    test(`may be ${name.slice(0, 20)}`, () => expect(checkWorkflowName(name)).toBe(name));
  }
  for (const name of hostile) {
    test(`can't be ${JSON.stringify(name).slice(0, 30)}`, () => {
      expect(() => checkWorkflowName(name)).toThrow("invalid workflow name");
    });
  }
});

describe("a thread's id", () => {
  test("is a ULID in capital letters", () => {
    expect(checkThreadId(id)).toBe(id);
    expect(isThreadId("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")).toBe(true);
    for (const other of [null, undefined, 42, [id]]) expect(isThreadId(other)).toBe(false);
  });
  const others = [id.toLowerCase(), `8${id.slice(1)}`, id.slice(1), `${id}0`, `${id}\n`];
  const letters = ["I", "L", "O", "U"].map((letter) => id.slice(0, 25) + letter);
  for (const text of [...hostile, ...others, ...letters, `../${id}`]) {
    test(`can't be ${JSON.stringify(text).slice(0, 40)}`, () => {
      expect(() => checkThreadId(text)).toThrow("is not a thread id");
    });
  }
});

test("a hash is 13 digits of Crockford Base32", () => {
  expect(isHash("EYHPV6X8XHTCS")).toBe(true);
  for (const text of [
    "",
    "EYHPV6X8XHTC",
    "EYHPV6X8XHTCSS",
    "eyhpv6x8xhtcs",
    "EYHPV6X8XHTCL",
    "../PV6X8XHTCS",
  ]) {
    expect(isHash(text)).toBe(false);
  }
});

test("isThreadId accepts exactly the texts that match threadIdPattern", () => {
  const digits = fc.string({
    unit: fc.constantFrom("0", "7", "8", "A", "Z", "I", "L", "O", "U", " ", "é"),
    maxLength: 30,
  });
  const nearly = fc.tuple(
    fc.constantFrom("", "0", "7", "8"),
    digits.map((text) => text.padEnd(25, "Z")),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        digits,
        nearly.map((parts) => parts.join("")),
      ),
      (text) => {
        expect(isThreadId(text)).toBe(threadIdPattern.test(text));
      },
    ),
  );
  expect(isThreadId("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")).toBe(true);
  for (const other of [null, undefined, 42, [id]]) expect(isThreadId(other)).toBe(false);
});
