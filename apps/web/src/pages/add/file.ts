const endings = [".esm.js", ".ts", ".mts", ".tsx", ".json", ".yaml", ".yml"] as const;

export type FileKind = "bundle" | "source" | "steps";

const endingOf = (file: string): string =>
  endings.find((one) => file.toLowerCase().endsWith(one)) ?? "";

/** The kind of a file; null if it can't be added. */
export function kindOf(file: string): FileKind | null {
  const ending = endingOf(file);
  if (/\.d\.m?ts$/.test(file) || ending === "") return null;
  if (ending === ".esm.js") return "bundle";
  return /ts/.test(ending) ? "source" : "steps";
}

/** The suggested workflow name of a file: `My review.ts` suggests `my-review`. */
export const nameFor = (file: string): string =>
  file
    .slice(0, file.length - endingOf(file).length)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|[-.]+$/g, "")
    .slice(0, 64);

/** The name under which a single file is uploaded. The server accepts only plain names. */
export const sentNameOf = (file: string): string =>
  file.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "") || "workflow";
