import type { Reply } from "../../packages/workflow-agents/test/wire.ts";
import type { Hands } from "../hands.ts";

/** The fields of a Messages API request that the scripted team reads. */
type Body = { system?: unknown; messages: { role: string; content: unknown }[] };

const json = (value: object) => `\n\n\`\`\`json\n${JSON.stringify(value)}\n\`\`\`\n`;

const median = (sorted: string) => `export function median(numbers) {
  const sorted = ${sorted};
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
}
`;

/** Text that the coder streams before it writes, long enough for a kill in the middle. */
export const aloud = "I sort by size and not by letters. ".repeat(20).trim();

/**
 * Plays the team as a model would, through tools: the first change leaves a test red, the second makes it green.
 * `slow` is the time of each token of the coder's text, in milliseconds.
 */
export function team({ read, write, run }: Hands, slow: () => number) {
  return (body: Body): Reply => {
    const asked = JSON.stringify([body.system, body.messages]);
    const isAnswered = JSON.stringify(body.messages.at(-1)).includes("tool_result");
    if (asked.includes("You plan how to solve")) {
      if (!isAnswered) return { thinking: "Where is it?", tools: [read("median.mjs")] };
      return { text: `The mean of the two is missing.${json({ files: ["median.mjs"] })}` };
    }
    if (asked.includes("You review the change")) {
      if (!isAnswered) return { tools: [run("git diff")] };
      return { text: `Good.${json({ approved: true, fix: [] })}` };
    }
    if (isAnswered) return { text: `Done.${json({ changed: ["median.mjs"] })}` };
    const again = asked.includes("The tests fail");
    const sorted = again ? "numbers.toSorted((a, b) => a - b)" : "numbers.sort()";
    const tools = [write("median.mjs", median(sorted))];
    return again ? { text: aloud, tools, tokenMs: slow() } : { tools };
  };
}
