import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { type Scorer, scoreOf } from "@uncaged/workflow-evals";
import { errorOf, StackMapper } from "@uncaged/workflow/internal";
import { answerFd, mapOf, type ScoreAnswer, type ScoreRequest } from "../eval/scorers.ts";
import { defineCommand } from "../session/command.ts";

// Saved before the scorer's code runs, because that code may replace it.
const { stringify } = JSON;

function answer(value: ScoreAnswer): void {
  const bytes = Buffer.from(`${stringify(value)}\n`);
  for (let done = 0; done < bytes.length; ) done += writeSync(answerFd, bytes, done);
}

export default defineCommand({
  onCluster: "unused",
  declare: (command) => command.argument("<file>", "the built scorer"),
  examples: [],
  async run(_session, _options: object, file: string) {
    const stacks = new StackMapper({ bundle: file, map: mapOf(file) });
    const errorIn = (thrown: unknown) => errorOf(thrown, (error) => stacks.rewrite(error));
    try {
      const { default: scorer } = (await import(pathToFileURL(file).href)) as { default?: Scorer };
      if (typeof scorer !== "function") throw new Error("it has no function as its default export");
      answer({ ready: true });
      for await (const line of createInterface({ input: process.stdin })) {
        const { case: one, thread } = JSON.parse(line) as ScoreRequest;
        try {
          answer({ score: scoreOf(await scorer(one, thread)) });
        } catch (thrown) {
          answer({ error: errorIn(thrown) });
        }
      }
    } catch (thrown) {
      answer({ error: errorIn(thrown) });
    }
  },
});
