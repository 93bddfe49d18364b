import { WorkflowError } from "@uncaged/workflow";
import * as z from "zod/mini";
import { readText, writeText } from "./file.ts";
import { tool } from "./tools.ts";

/** Replaces an exact text in a file. */
export const editFile = tool({
  name: "editFile",
  description:
    "Replaces `oldText` in a text file of the working directory by `newText`. `oldText` must stand there exactly, spaces and line ends included, and once only unless `all` is true.",
  input: z.object({
    path: z.string().check(z.minLength(1)),
    oldText: z.string().check(z.minLength(1)),
    newText: z.string(),
    all: z.optional(z.boolean()),
  }),
  async execute({ path, oldText, newText, all = false }, { cwd }) {
    if (oldText === newText) throw editError(path, "would not change: both texts are the same");
    const { place, text } = await readText(cwd, path);
    const pieces = text.split(oldText);
    const places = pieces.length - 1;
    if (places === 0) {
      throw editError(place.name, "has no such text", "read it again, and give the text exactly");
    }
    if (places > 1 && !all) {
      const more = "give more of the text around it, or set all to true";
      throw editError(
        place.name,
        `has the text ${places} times, in ${linesOf(pieces, oldText)}`,
        more,
      );
    }
    await writeText(cwd, path, pieces.join(newText));
    const times = places === 1 ? "" : ` in ${places} places`;
    return { result: `changed ${place.name}${times}`, path: place.name, places };
  },
});

function linesOf(pieces: readonly string[], text: string): string {
  const breaks = (piece: string) => piece.split("\n").length - 1;
  const lines: number[] = [];
  let line = 1;
  for (const piece of pieces.slice(0, Math.min(pieces.length - 1, 10))) {
    line += breaks(piece);
    lines.push(line);
    line += breaks(text);
  }
  return `lines ${lines.join(", ")}${pieces.length > 11 ? "…" : ""}`;
}

function editError(path: string, problem: string, hint = "give another text"): WorkflowError {
  const message = `${JSON.stringify(path)} ${problem}`;
  return new WorkflowError({ code: "EDIT_FAILED", kind: "failed", message, hint });
}
