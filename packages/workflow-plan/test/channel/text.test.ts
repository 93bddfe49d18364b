import { describe, expect, test } from "bun:test";
import { buttonText, readButton } from "../../src/channel/channel.ts";
import { markdownV2, messagesOf } from "../../src/channel/text.ts";
import { planHash } from "../../src/plan/hash.ts";
import { workflowOf } from "./contract.ts";

describe("a long text", () => {
  test("is split at a newline, else at a space, else anywhere", () => {
    expect(messagesOf("one two\nthree four", 12)).toEqual(["one two", "three four"]);
    expect(messagesOf("one two three", 8)).toEqual(["one two", "three"]);
    expect(messagesOf("onetwothree", 4)).toEqual(["onet", "woth", "ree"]);
    expect(messagesOf("short", 5)).toEqual(["short"]);
    expect(messagesOf("12345 78", 5)).toEqual(["12345", "78"]);
  });

  test("loses only the character at each split, and keeps surrogate pairs whole", () => {
    const owls = "🦉".repeat(5_000);
    const parts = messagesOf(owls, 4095);
    expect(parts.join("")).toBe(owls);
    expect(parts.every((part) => part.isWellFormed() && part.length <= 4095)).toBe(true);
    const lines = Array.from({ length: 3_000 }, (_, at) => `line ${at}`).join("\n");
    expect(messagesOf(lines).join("\n")).toBe(lines);
  });

  test("is never an empty message", () => {
    for (const text of ["", " ", "\n\n"]) expect(messagesOf(text)).toEqual([]);
    expect(messagesOf(`a${"\n".repeat(30)}b`, 10).map((part) => part.trim())).toEqual(["a", "b"]);
  });
});

test("MarkdownV2 escapes reserved characters, and keeps code and bold face", () => {
  expect(markdownV2("1. a_b (c)!")).toBe("1\\. a\\_b \\(c\\)\\!");
  expect(markdownV2("**A.b** `c.d\\` e.f")).toBe("*A\\.b* `c.d\\\\` e\\.f");
  expect(markdownV2("```sh\nls *.ts\n```")).toBe("```\nls *.ts\n```");
  expect(markdownV2("**open `half")).toBe("\\*\\*open \\`half");
});

test("button data has at most 64 bytes, and other data is not read as a button", () => {
  const id = `wf_${"x".repeat(21)}`;
  const button = { action: "confirm", workflowId: id, planHash: "0123456789" } as const;
  const text = buttonText(button);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64);
  expect(readButton(text)).toEqual({ ...button, planHash: "01234567" });
  const others = [
    "",
    text.slice(1),
    `${text}9`,
    text.replace("wf_", "../"),
    `toString:${id}:12345678`,
  ];
  for (const other of others) expect(readButton(other)).toBeNull();
});

test("a plan's hash covers only the confirmed part, without phase, times, layout and the order of keys", () => {
  const workflow = workflowOf({ metadata: { cwd: "/src", sandbox: "off" } });
  const hash = planHash(workflow);
  const [first, ...rest] = workflow.steps;
  const placed = [{ ...first, position: { x: 9, y: 9 } }, ...rest] as typeof workflow.steps;
  const same = [
    workflowOf({
      phase: "active",
      updated_at: "x",
      metadata: { sandbox: "off", cwd: "/src", x: 1 },
    }),
    { ...workflow, steps: placed },
    JSON.parse(JSON.stringify(workflow)) as typeof workflow,
  ];
  for (const one of same) expect(planHash(one)).toBe(hash);
  const others = [
    workflowOf({ metadata: { cwd: "/other", sandbox: "off" } }),
    { ...workflow, name: "Other" },
    { ...workflow, trigger: { type: "cron", expression: "0 9 * * *" } as const },
  ];
  for (const one of others) expect(planHash(one)).not.toBe(hash);
});
