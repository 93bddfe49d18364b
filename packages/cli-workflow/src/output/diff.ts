import type { Step, ThreadDiff } from "@uncaged/workflow/host";
import type { WorktreeDiff } from "@uncaged/workflow/internal";
import { createPatch, OMIT_HEADERS } from "diff";
import { jsonOf } from "./output.ts";
import type { Paint, Style } from "./style.ts";
import { count, oneLine, plain } from "./text.ts";

const context = 3;
const styles: Record<string, Style> = { "+": "green", "-": "red", "@": "cyan" };

/**
 * Returns the comparison of two threads: the first difference, then each different step as a unified diff, then the
 * files of their worktrees.
 */
export function diffText(
  { same, firstDifference, prompt, steps, files }: ThreadDiff & { files: WorktreeDiff[] },
  [a, b]: [string, string],
  paint: Paint,
): string {
  if (same) return `${a} and ${b} are the same: ${count(steps.length, "step")}\n`;
  const head = `${paint("red", `- ${a}`)}\n${paint("green", `+ ${b}`)}\n`;
  const first =
    firstDifference === null ? "the prompts differ" : `first difference: step ${firstDifference}`;
  const parts = [`${head}${first}\n`];
  if (!prompt.same) parts.push(block("prompt", prompt.a, prompt.b, paint));
  const shown = files.map((tree) => filesBlock(tree, paint));
  return [...parts, ...steps.map((step) => stepBlock(step, paint)), ...shown].join("\n");
}

function filesBlock({ name, files, problem, a, b }: WorktreeDiff, paint: Paint): string {
  const title = `files  ${name}`;
  if (problem !== null) return `${paint("bold", title)}\n${paint("yellow", oneLine(problem))}\n`;
  if (files.length === 0) return `${paint("dim", `${title}  same`)}\n`;
  const shown = files.map(({ path, from, change, patch }) => {
    if (patch !== null) return painted(plain(patch), paint);
    const renamed = from === null ? "" : `${oneLine(from)} -> `;
    return `${change} ${renamed}${oneLine(path)}: git diff ${a} ${b} shows it\n`;
  });
  return `${paint("bold", title)}\n${shown.join("")}`;
}

function painted(patch: string, paint: Paint): string {
  const lines = patch.replace(/\n$/, "").split("\n");
  const ofLine = (line: string) =>
    line.startsWith("diff --git ") ? "bold" : styles[line[0] ?? ""];
  const shown = lines.map((line) => {
    const style = ofLine(line);
    return style ? paint(style, line) : line;
  });
  return `${shown.join("\n")}\n`;
}

function stepBlock({ number, a, b, same }: ThreadDiff["steps"][number], paint: Paint): string {
  const roles = [...new Set([a, b].flatMap((step) => (step ? [oneLine(step.role)] : [])))];
  const title = `step ${number}  ${roles.join(" / ")}`;
  if (same) return `${paint("dim", `${title}  same`)}\n`;
  return block(title, textOf(a), textOf(b), paint);
}

function block(title: string, a: string, b: string, paint: Paint): string {
  const options = { context, headerOptions: OMIT_HEADERS };
  const patch = createPatch("", ended(a), ended(b), undefined, undefined, options);
  return `${paint("bold", title)}\n${painted(patch, paint)}`;
}

// Includes the role and the meta, because steps may differ in them too.
function textOf(step: Step | null): string {
  if (!step) return "";
  const meta = jsonOf(step.meta, 2);
  return `role: ${step.role}\nmeta: ${meta}\n\n${plain(step.content)}`;
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
