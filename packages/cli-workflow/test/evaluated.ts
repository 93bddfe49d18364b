import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Store } from "./program.ts";

/**
 * A workflow that appends a line to the file `work` for each executed role, and follows its prompt. A prompt with
 * `gate` waits for a file of that name.
 */
const source = (says: string): string => `
  import { createRoleModerator, END, waitFor } from "@uncaged/workflow";
  import { appendFileSync, existsSync } from "node:fs";
  const usage = { input_tokens: 1000, output_tokens: 100, thinking_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 };
  const worker = async ({ start, cwd }) => {
    const { content: prompt } = start;
    appendFileSync(cwd + "/work", prompt + "\\n");
    while (prompt.includes("gate") && !existsSync(cwd + "/gate")) await new Promise((go) => setTimeout(go, 5));
    if (prompt.includes("fail")) throw new Error("no luck");
    if (prompt.includes("dear")) throw Object.assign(new Error("too dear"), { code: "BUDGET_EXCEEDED" });
    return { content: "${says} " + prompt, meta: { usage, cost: 0.25, model: "m" } };
  };
  const person = async () => waitFor("name", { content: "Who are you?" });
  export const descriptor = { description: "", roles: {
    worker: { description: "", schema: {} }, person: { description: "", schema: {} } } };
  export const run = createRoleModerator({
    roles: { worker, person },
    moderator: ({ start, steps }) => {
      if (start.content.includes("round")) return "worker";
      if (steps.length === 0) return "worker";
      return steps.length === 1 && start.content.includes("ask") ? "person" : END;
    },
  });`;

const scorer = `
  export default function ({ expected, metadata }, thread) {
    if (metadata?.breaks) throw new TypeError("this one breaks");
    console.log("printed by the scorer");
    return { score: thread.steps[0].content === expected ? 1 : 0.25, reason: thread.status + " " + thread.cost };
  }`;

export const lines = (cases: readonly object[]): string =>
  cases.map((one) => JSON.stringify(one)).join("\n");

/** Returns a storage root, with two versions of a workflow, a scorer and a data set. */
export function prepared(cases: readonly object[]): Store {
  const store = new Store();
  const files = { "v1.ts": source("one"), "v2.ts": source("two"), "score.ts": scorer };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(store.folder, name), text);
  writeFileSync(join(store.folder, "cases.jsonl"), lines(cases));
  return store;
}

/** Arguments that name the data set and the scorer. */
export const command = ["cases.jsonl", "--score", "score.ts"];
/** Returns the prompts of all executed roles so far. */
export const workIn = ({ folder }: Store): string[] => {
  const path = join(folder, "work");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").sort() : [];
};
