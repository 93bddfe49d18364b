import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { scriptedAgent } from "@uncaged/workflow-agents";

/** Plays all roles without a model, on the repository created by make-repository.sh. */
export const script = scriptedAgent({
  "You plan": answer("median() takes one number where two are in the middle.", {
    files: ["median.mjs"],
  }),
  "You solve": (ctx) => {
    const [text, body] = ctx.steps.some(({ role }) => role === "coder") ? second : first;
    writeFileSync(join(ctx.cwd ?? ".", "median.mjs"), code(body));
    return answer(text, { changed: ["median.mjs"] });
  },
  "You review": answer("It does what the issue asks for, and no more.", {
    approved: true,
    fix: [],
  }),
});

function answer(text: string, meta: object): string {
  return `${text}\n\n\`\`\`json\n${JSON.stringify(meta)}\n\`\`\``;
}

const first = ["I take the mean of the two in the middle.", "numbers.sort()"] as const;
const second = [
  "sort() compares words, and changes the list: I sort a copy by size.",
  "numbers.toSorted((a, b) => a - b)",
] as const;

const code = (sorted: string) => `/** Returns the median of some numbers. */
export function median(numbers) {
  const sorted = ${sorted};
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
`;
