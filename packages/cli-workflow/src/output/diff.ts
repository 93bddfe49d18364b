import type { Step, ThreadDiff } from "@uncaged/workflow/host";
import type { Paint, Style } from "./style.ts";
import { count, oneLine, plain } from "./text.ts";

const context = 3;
const styles: Record<string, Style> = { "+": "green", "-": "red", "@": "cyan" };

/** Two threads compared: the first difference, then each step that differs as a unified diff. */
export async function diffText(
  { same, firstDifference, prompt, steps }: ThreadDiff,
  [a, b]: [string, string],
  paint: Paint,
): Promise<string> {
  if (same) return `${a} and ${b} are the same: ${count(steps.length, "step")}\n`;
  const head = `${paint("red", `- ${a}`)}\n${paint("green", `+ ${b}`)}\n`;
  const first =
    firstDifference === null ? "the prompts differ" : `first difference: step ${firstDifference}`;
  const parts = [`${head}${first}\n`];
  if (!prompt.same) parts.push(await block("prompt", prompt.a, prompt.b, paint));
  for (const step of steps) parts.push(await stepBlock(step, paint));
  return parts.join("\n");
}

async function stepBlock(
  { number, a, b, same }: ThreadDiff["steps"][number],
  paint: Paint,
): Promise<string> {
  const roles = [...new Set([a, b].flatMap((step) => (step ? [oneLine(step.role)] : [])))];
  const title = `step ${number}  ${roles.join(" / ")}`;
  if (same) return `${paint("dim", `${title}  same`)}\n`;
  return await block(title, textOf(a), textOf(b), paint);
}

async function block(title: string, a: string, b: string, paint: Paint): Promise<string> {
  const { structuredPatch } = await import("diff");
  const patch = structuredPatch("a", "b", ended(a), ended(b), undefined, undefined, { context });
  const lines = patch.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines,
  ]);
  const shown = lines.map((line) => {
    const style = styles[line[0] ?? ""];
    return style ? paint(style, line) : line;
  });
  return `${paint("bold", title)}\n${shown.join("\n")}\n`;
}

// The role and the meta come before the content: a step may differ in any of the three.
function textOf(step: Step | null): string {
  if (!step) return "";
  const meta = JSON.stringify(step.meta, null, 2);
  return `role: ${step.role}\nmeta: ${meta}\n\n${plain(step.content)}`;
}

const ended = (text: string): string => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
