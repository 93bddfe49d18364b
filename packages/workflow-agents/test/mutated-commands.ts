import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isWorkflowError } from "@uncaged/workflow";
import { readClaudeCode } from "../src/command/claude-code.ts";
import { readCodex } from "../src/command/codex.ts";
import { commandAgent } from "../src/command/command.ts";
import { readCursor } from "../src/command/cursor.ts";
import type { LineReader } from "../src/command/reader.ts";
import { observed, threadOf } from "./published.ts";
import { garbled, mutated, randomOf } from "./random-mutations.ts";

const readers: Record<string, LineReader> = {
  claude: readClaudeCode,
  codex: () => readCodex("codex"),
  cursor: readCursor,
};
const answer = "The sum is fixed.";

/** Replays a command's recorded output with the changes of a seed. Expects the answer or a readable error. */
export async function tryMutation(
  folder: string,
  command: "claude" | "codex" | "cursor",
  seed: number,
): Promise<void> {
  const recorded = readFileSync(join(import.meta.dir, "commands", `${command}.jsonl`), "utf8");
  const lines = recorded
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  const { sent, what } = mutated(lines, randomOf(seed));
  const file = join(folder, "mutated");
  writeFileSync(file, sent.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const agent = commandAgent({ argv: ["cat", file], output: readers[command] });
  const env = { PATH: process.env.PATH ?? "" };
  const { error, events, spent, text } = await observed(() => agent(threadOf({ env }), ""));
  const name = `${command}, seed ${seed}: ${what}`;
  const message = error instanceof Error ? error.message : "";
  const shown = JSON.stringify([text, events]) + message;
  const odd = garbled.exec(shown)?.[0];
  const counts = spent.flatMap(({ cost, usage }) => [...Object.values(usage), cost ?? 0]);
  const isCounted = counts.every((count) => Number.isFinite(count) && count >= 0);
  const isKnown = error === null || isWorkflowError(error);
  expect({ name, odd, isCounted, isKnown }).toEqual({
    ...{ name, odd: undefined, isCounted: true, isKnown: true },
  });
  // Text before a tool call is never the answer.
  const isAside = /^(An aside\.|I'll read it\. ?)$/.test(text);
  expect({ name, isAside }).toEqual({ name, isAside: false });
  const last = JSON.stringify(sent.at(-1) ?? null);
  const isWhole = sent.length === lines.length && last === JSON.stringify(lines.at(-1));
  if (isWhole && command !== "codex") {
    expect({ name, message, isGiven: text.includes(answer) }).toEqual({
      ...{ name, message: "", isGiven: true },
    });
  }
}
