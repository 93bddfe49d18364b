import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { type ThreadDiff, threadDiff } from "@uncaged/workflow/host";
import { fileDiff } from "@uncaged/workflow/internal";
import { z } from "zod";
import { clipped, jsonBytes } from "./size.ts";
import { threadField } from "./threads.ts";
import { defineTool } from "./tool.ts";

const text = z.string();

const sideSchema = z.strictObject({ role: text, content: text, metaBytes: z.int() }).nullable();
const differenceSchema = z.strictObject({ number: z.int(), a: sideSchema, b: sideSchema });
const fileSchema = z.strictObject({
  worktree: text,
  path: text,
  change: text,
  patch: text.nullable().describe("Null for a binary or long patch."),
});

const mostSide = 1_500;
const mostSteps = 14_000;
const mostFiles = 8_000;
const mostPatch = 2_000;

export const diffThreads = defineTool({
  name: "diff_threads",
  title: "Compare two threads",
  description:
    "Compares the prompts, the steps and the git worktrees of two threads, such as a thread and its fork.",
  input: z.strictObject({
    a: threadField,
    b: threadField,
    fromStep: z.int().min(1).default(1).describe("Compares from this step on."),
  }),
  output: z.strictObject({
    a: text,
    b: text,
    same: z.boolean(),
    firstDifference: z.int().nullable().describe("The first step that differs."),
    prompts: z
      .strictObject({ a: text, b: text })
      .optional()
      .describe("Only if the prompts differ."),
    steps: z.array(differenceSchema).describe("The steps that differ."),
    nextStep: z.int().nullable().describe("The `fromStep` of the next page."),
    files: z.array(fileSchema).describe("The files that differ."),
    moreFiles: z.int().describe("The number of files that are left out."),
  }),
  kind: "reads",
  async run({ host }, { a, b, fromStep }) {
    const [first, second] = [
      await host.read(await host.find(a)),
      await host.read(await host.find(b)),
    ];
    const { same, firstDifference, prompt, steps } = threadDiff(first, second);
    const page = stepsFrom(steps, fromStep);
    const { files, moreFiles } = filesOf(fromStep > 1 ? [] : await fileDiff(first, second));
    const prompts = { a: clipped(prompt.a, 800), b: clipped(prompt.b, 800) };
    const data = {
      ...{ a: first.threadId, b: second.threadId, same, firstDifference },
      ...(!prompt.same && { prompts }),
      ...{ ...page, files, moreFiles },
    };
    const where =
      firstDifference === null ? "no step differs" : `they differ from step ${firstDifference}`;
    return { data, text: same ? "the threads are the same" : where };
  },
});

function stepsFrom(all: ThreadDiff["steps"], from: number) {
  const steps: z.infer<typeof differenceSchema>[] = [];
  let bytes = 0;
  for (const { number, a, b, same } of all.slice(from - 1)) {
    if (same) continue;
    const one = { number, a: sideOf(a), b: sideOf(b) };
    bytes += jsonBytes(one);
    if (bytes > mostSteps && steps.length > 0) return { steps, nextStep: number };
    steps.push(one);
  }
  return { steps, nextStep: null };
}

const sideOf = (step: ThreadDiff["steps"][number]["a"]) =>
  step && {
    role: clipped(step.role, 100),
    content: clipped(step.content, mostSide),
    metaBytes: jsonBytes(step.meta),
  };

function filesOf(trees: Awaited<ReturnType<typeof fileDiff>>) {
  const all = trees.flatMap(({ name, files }) =>
    files.map(({ path, change, patch }) => {
      const isLong = patch !== null && jsonBytes(patch) > mostPatch;
      return { worktree: name, path, change, patch: isLong ? null : patch };
    }),
  );
  const files: typeof all = [];
  let bytes = 0;
  for (const file of all) {
    bytes += jsonBytes(file);
    if (bytes > mostFiles) break;
    files.push(file);
  }
  return { files, moreFiles: all.length - files.length };
}

const tallySchema = z.strictObject({
  tokens: z.number(),
  cost: z.number(),
  unpriced: z.number().describe("The number of parts without a known price."),
});
const tallies = z.record(text, tallySchema);
type Tally = z.infer<typeof tallySchema>;

const mostNames = 60;

export const threadCost = defineTool({
  name: "thread_cost",
  title: "Show the cost of a thread",
  description: "Returns the tokens and the cost in US dollars of a thread, by role and by model.",
  input: z.strictObject({ threadId: threadField }),
  output: z.strictObject({
    threadId: text,
    total: tallySchema,
    lost: tallySchema.describe("The part that led to no step."),
    saved: tallySchema.describe("Spent by the thread that it was forked from."),
    roles: tallies,
    models: tallies,
    isComplete: z.boolean().describe("False if there are more than 60 roles or models."),
  }),
  kind: "reads",
  async run({ host }, { threadId: id }) {
    const ref = await host.find(id);
    const { total, lost, saved, roles, models } = ledgerOf(await host.attempts(ref));
    const isComplete = [roles, models].every((all) => Object.keys(all).length <= mostNames);
    const { threadId } = ref;
    const data = {
      ...{ threadId, total: shown(total), lost: shown(lost), saved: shown(saved) },
      ...{ roles: dearest(roles), models: dearest(models), isComplete },
    };
    return { data, text: `${threadId}: ${total.tokens} tokens, $${total.cost}` };
  },
});

const shown = ({ tokens, cost, unpriced }: Tally): Tally => ({ tokens, cost, unpriced });

const dearest = (all: Record<string, Tally>): Record<string, Tally> =>
  Object.fromEntries(
    Object.entries(all)
      .toSorted(([, one], [, other]) => other.cost - one.cost || other.tokens - one.tokens)
      .slice(0, mostNames)
      .map(([name, tally]) => [clipped(name, 100), shown(tally)]),
  );
