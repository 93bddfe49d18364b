import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow/host";
import { changeOf, stepText } from "./edit.ts";
import { timeOf, wholeNumber } from "./options.ts";
import { jsonOf, optionsOf } from "./values.ts";

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isWorkflowError(error)) return error.code;
    throw error;
  }
  return "none";
}

test("a whole number option accepts only whole numbers within its bounds", () => {
  const parse = wholeNumber("--max-rounds", 1, 1_000_000);
  expect([parse("1"), parse("1000000"), parse("007")]).toEqual([1, 1_000_000, 7]);
  for (const text of [
    "0",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    "",
    " 1",
    "1000001",
    "9".repeat(300),
    "NaN",
  ]) {
    expect(codeOf(() => parse(text))).toBe("BAD_OPTION");
  }
});

test("an option's value is exact JSON, or else text", () => {
  const pairs =
    "n=3 on=true none=null model=fast list=[1] empty= url=a=b text=a\nb zip=007 version=1.10";
  const id = "12345678901234567890";
  expect(optionsOf([...pairs.split(" "), `id=${id}`, 'quoted="x"'])).toEqual({
    n: 3,
    on: true,
    none: null,
    model: "fast",
    list: [1],
    empty: "",
    url: "a=b",
    text: "a\nb",
    zip: "007",
    version: "1.10",
    id,
    quoted: '"x"',
  });
});

test("JSON is read from a file with a byte order mark, but not with a duplicate key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "json-"));
  const file = join(folder, "params.json");
  writeFileSync(file, '\uFEFF{"a":1}');
  expect(await jsonOf("--params", `@${file}`)).toEqual({ a: 1 });
  writeFileSync(file, '{\n "a": 1,\n "a": 2}');
  expect(jsonOf("--params", `@${file}`)).rejects.toThrow(`${file}:3:2: duplicate key "a"`);
  for (const text of ['{"a":1,"a":2}', '{"id":12345678901234567890}', "{", ""])
    expect(jsonOf("--params", text)).rejects.toMatchObject({ code: "BAD_JSON", kind: "usage" });
  rmSync(folder, { recursive: true });
});

test("an option with invalid JSON or without a name is refused", () => {
  expect(codeOf(() => optionsOf(['a={"b":']))).toBe("BAD_JSON");
  for (const pair of ["novalue", "=1", "a b=1", `${"x".repeat(300)}=1`]) {
    expect(codeOf(() => optionsOf([pair]))).toBe("BAD_OPTION");
  }
});

test("an option cannot reach an object's prototype", () => {
  const options = optionsOf(['__proto__={"polluted":true}']);
  expect(Object.keys(options)).toEqual(["__proto__"]);
  expect("polluted" in options).toBe(false);
});

test("a time is a span before now or an ISO time", () => {
  const now = Date.UTC(2026, 4, 6, 12);
  expect(timeOf("--since", "5m", now)).toBe(now - 300_000);
  expect(timeOf("--since", "1d", now)).toBe(now - 86_400_000);
  expect(timeOf("--since", "2026-05-06T11:00:00Z", now)).toBe(now - 3_600_000);
  for (const text of ["5", "m", "-5m", "yesterday", "2026", "1.5h", ""]) {
    expect(codeOf(() => timeOf("--since", text, now))).toBe("BAD_OPTION");
  }
});

const step = { role: "planner", content: "a\n--- content\nb\n\n", meta: { n: 1 }, timestamp: 0 };

test("an edited step keeps the editor's text, including its last line breaks", () => {
  const text = stepText(step, 3);
  expect(changeOf(step, text.replace("\nb\n", "\nB\n"))).toEqual({
    content: "a\n--- content\nB\n\n",
  });
  expect(changeOf(step, text.replace('"n": 1', '"n": 2'))).toEqual({ meta: { n: 2 } });
});

test("an unchanged step is not forked", () => {
  expect(codeOf(() => changeOf(step, stepText(step, 3)))).toBe("EDIT_CANCELLED");
});

test("an edited step with missing parts is refused", () => {
  const text = stepText(step, 3);
  expect(codeOf(() => changeOf(step, text.replace("--- meta", "")))).toBe("BAD_EDIT");
  expect(codeOf(() => changeOf(step, text.replace('"n": 1', '"n": ')))).toBe("BAD_EDIT");
  expect(codeOf(() => changeOf(step, text.replace(/\{[^}]*\}/, "[1]")))).toBe("BAD_EDIT");
  expect(codeOf(() => changeOf(step, ""))).toBe("BAD_EDIT");
});
