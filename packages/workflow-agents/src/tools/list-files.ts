import { stat } from "node:fs/promises";
import * as z from "zod/mini";
import { nullIfMissing, pathError, placeInside } from "./inside.ts";
import { tool } from "./tools.ts";
import { matcher, walk } from "./walk.ts";

const mostFiles = 1000;

/** Lists files and folders, without what Git ignores. */
export const listFiles = tool({
  name: "listFiles",
  description: `Lists the files of the working directory, or of the folder \`path\` in it, with all below: ${mostFiles} at most. \`pattern\` chooses among them (\`*.ts\`, \`src/**\`). Leaves out .git, node_modules and what a .gitignore names.`,
  input: z.object({
    path: z.optional(z.string()),
    pattern: z.optional(z.string().check(z.minLength(1))),
  }),
  async execute({ path = ".", pattern }, { cwd, signal }) {
    const place = await placeInside(cwd, path);
    const stats = await stat(place.path).catch(nullIfMissing);
    if (!stats) throw pathError("FILE_MISSING", path, "is not there");
    if (!stats.isDirectory()) throw pathError("NOT_A_FOLDER", path, "is no folder", "read it");
    const matches = pattern === undefined ? null : matcher(pattern);
    const lines: string[] = [];
    for await (const { name, isFolder } of walk(place)) {
      if (matches && (isFolder || !matches(name))) continue;
      signal.throwIfAborted();
      lines.push(isFolder ? `${name}/` : name);
      if (lines.length > mostFiles) break;
    }
    if (lines.length === 0) return "[no files]";
    const more = `[and more: choose a folder or a pattern]`;
    return [...lines.slice(0, mostFiles), ...(lines.length > mostFiles ? [more] : [])].join("\n");
  },
});
