/** The endings of the files that can be added. */
const endings = [".esm.js", ".ts", ".mts", ".tsx", ".json", ".yaml", ".yml"] as const;

/** What a file is, by its name. */
export type FileKind = "bundle" | "source" | "steps";

const endingOf = (file: string): string =>
  endings.find((one) => file.toLowerCase().endsWith(one)) ?? "";

/** What a file is taken for; null when it can't be added. */
export function kindOf(file: string): FileKind | null {
  const ending = endingOf(file);
  if (/\.d\.m?ts$/.test(file) || ending === "") return null;
  if (ending === ".esm.js") return "bundle";
  return /ts/.test(ending) ? "source" : "steps";
}

/** The name that a file suggests for its workflow: `My review.ts` suggests `my-review`. */
export const nameFor = (file: string): string =>
  file
    .slice(0, file.length - endingOf(file).length)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|[-.]+$/g, "")
    .slice(0, 64);

/** What a single file is sent as: the server takes plain names alone. */
export const sentNameOf = (file: string): string =>
  file.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "") || "workflow";
