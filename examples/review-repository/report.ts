import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { StepContext } from "@uncaged/workflow";
import { counted } from "./counted.ts";
import type { Options } from "./options.ts";
import type { Plan } from "./plan.ts";
import type { Reading } from "./read.ts";

export type Report = { findings: number; urgent: number; summary: string };

/** Writes the report as Markdown. The same commit gives the same report. `notes` describe the history. */
export async function writeReport(
  plan: Plan,
  readings: Reading[],
  { to }: Options,
  { cwd }: StepContext,
  notes: string[] = [],
): Promise<{ content: string; meta: Report }> {
  const all = readings.flatMap(({ path, findings }) =>
    findings.map((found) => ({ path, ...found })),
  );
  const urgent = all.filter((found) => found.urgent);
  const count = `${counted(all.length + notes.length, "finding")} in ${counted(readings.length, "file")}`;
  const summary = urgent.length > 0 ? `${count}, ${urgent.length} of them urgent` : count;
  const content = [
    plan.commit === "" ? "# Nothing to review" : `# Review of commit ${plan.commit.slice(0, 12)}`,
    `${summary}. Read: the most changed files of the last ${counted(plan.commits, "commit")}, weighed by size.`,
    ...section(
      "Urgent",
      urgent.map(({ path, line, what }) => `\`${path}:${line}\` ${what}`),
    ),
    ...readings.flatMap(({ path, findings }) =>
      section(
        path,
        findings.map(({ line, what }) => `line ${line}: ${what}`),
      ),
    ),
    ...section("History", notes),
  ].join("\n\n");
  if (to !== null) writeFileSync(resolve(cwd, to), `${content}\n`);
  return { content, meta: { findings: all.length + notes.length, urgent: urgent.length, summary } };
}

const section = (title: string, items: string[]): string[] =>
  items.length === 0 ? [] : [`## ${title}`, items.map((item) => `- ${item}`).join("\n")];
