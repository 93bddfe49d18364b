/** The endings of the files that can be added. */
export const endings = [".esm.js", ".ts", ".mts", ".tsx", ".json", ".yaml", ".yml"] as const;

/** What a file is, by its name. */
export type FileKind = "bundle" | "source" | "steps";

/** What a file is taken for; null when it can't be added. */
export function kindOf(file: string): FileKind | null {
  if (/\.d\.m?ts$/.test(file)) return null;
  const ending = endings.find((one) => file.toLowerCase().endsWith(one));
  if (ending === undefined) return null;
  if (ending === ".esm.js") return "bundle";
  return /ts/.test(ending) ? "source" : "steps";
}

/** The name that a file suggests for its workflow: `My review.ts` suggests `my-review`. */
export function nameFor(file: string): string {
  const ending = endings.find((one) => file.toLowerCase().endsWith(one)) ?? "";
  return file
    .slice(0, file.length - ending.length)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|[-.]+$/g, "")
    .slice(0, 64);
}

/** What a file is sent as: the server takes plain names alone. */
export const sentNameOf = (file: string): string =>
  file.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "") || "workflow";
