import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stepsBundle } from "../../src/index.ts";

/** Four iterations at once ask a model each; the second half of an answer waits for the file `go`. */
export const { run, descriptor } = stepsBundle(
  {
    version: "3.18",
    name: "streaming",
    registry: { vars: ["$answers(ARRAY)"] },
    steps: [
      { id: "Loop_A", source: [0, 1, 2, 3], mode: "parallel", children: ["LLM_A"], next: "Set_B" },
      {
        id: "LLM_A",
        in: { prompt: "='part ' + _index", stream: true },
        out: { "$answers[_index]": "=_result" },
        next: "RETURN",
      },
      { id: "Set_B", if: "false", target: "$answers", value: null, next: "RETURN" },
    ],
  },
  {
    adapters: ({ cwd = "." }) => ({
      llm: {
        async call({ messages }, onToken, _callbacks, { signal }) {
          const text = String(messages[0]?.content);
          onToken(`${text}: `);
          while (!existsSync(join(cwd, "go"))) await sleep(5, undefined, { signal });
          onToken(`done ${text}`);
          const usage = { input_tokens: 1, output_tokens: Number(text.at(-1)) + 1 };
          return { content: `${text}: done ${text}`, model: "m", usage };
        },
      },
    }),
  },
);
