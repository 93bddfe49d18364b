import * as z from "zod/mini";
import { readText } from "./file.ts";
import { tool } from "./tools.ts";

const mostLines = 2000;
const mostCharacters = 80_000;

/** Reads a text file, or some of its lines. */
export const readFile = tool({
  name: "readFile",
  description: `Reads a text file of the working directory: ${mostLines} lines from line \`offset\` (1 is the first), or \`limit\` lines.`,
  input: z.object({
    path: z.string().check(z.minLength(1)),
    offset: z.optional(z.int().check(z.minimum(1))),
    limit: z.optional(z.int().check(z.minimum(1))),
  }),
  async execute({ path, offset = 1, limit = mostLines }, { cwd }) {
    const { text } = await readText(cwd, path);
    const lines = text.split("\n");
    const total = text.endsWith("\n") ? lines.length - 1 : lines.length;
    if (offset > Math.max(total, 1)) return `[the file has ${total} lines]`;
    const end = Math.min(offset - 1 + fitting(lines, offset - 1, limit), total);
    if (offset === 1 && end === total) return text;
    const shown = lines
      .slice(offset - 1, end)
      .join("\n")
      .slice(0, mostCharacters);
    const more = end < total ? `; go on with offset ${end + 1}` : "";
    return `${shown}\n[lines ${offset} to ${end} of ${total}${more}]`;
  },
});

// At least one line, however long it is.
function fitting(lines: readonly string[], from: number, limit: number): number {
  let length = 0;
  for (let count = 0; count < limit; count++) {
    length += (lines[from + count]?.length ?? 0) + 1;
    if (length > mostCharacters && count > 0) return count;
  }
  return limit;
}
