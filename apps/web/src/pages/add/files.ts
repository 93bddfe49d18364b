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

/** Chosen files by path, relative to the dropped folder. */
export type Files = ReadonlyMap<string, File>;

/** The server's limits. */
export const most = { files: 1_000, bytes: 32 * 1024 * 1024 };

/** Folders to skip: large, and without sources. */
const unread: ReadonlySet<string> = new Set(["node_modules", ".git"]);

export const isRead = (path: string): boolean => !path.split("/").some((part) => unread.has(part));

/** Tells whether a file may be a workflow or an import of one. */
export const isTaken = (path: string): boolean =>
  isRead(path) && /\.([cm]?[jt]sx?|jsonc?|ya?ml|toml|txt|md)$/i.test(path);

export const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

// Common JSON and YAML files of projects, which are not step workflows.
const ofProject =
  /^(package|package-lock|tsconfig(\..+)?|biome|deno|pnpm-.+|\..+)\.(jsonc?|ya?ml)$/;

/** Files that may be the workflow, starting at the top level. */
export function candidatesOf(paths: Iterable<string>): string[] {
  const depth = (path: string) => path.split("/").length;
  return [...paths]
    .filter((path) => kindOf(path) !== null && !ofProject.test(baseOf(path)))
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
}

/**
 * The workflow's file: the only candidate, else the candidate at the top level that is named `workflow`, `index` or
 * like its folder, or the only source there. Null if unclear.
 */
export function workflowAmong(paths: readonly string[]): string | null {
  const candidates = candidatesOf(paths);
  if (candidates.length === 1) return candidates[0] ?? null;
  const top = commonFolder(paths);
  const atTop = candidates.filter((path) => folderOf(path) === top);
  const stem = (path: string) => nameFor(baseOf(path));
  const rules: ((path: string) => boolean)[] = [
    (path) => stem(path) === "workflow",
    (path) => stem(path) === "index",
    (path) => top !== "" && stem(path) === nameFor(baseOf(top)),
    (path) => kindOf(path) === "source",
    () => true,
  ];
  for (const rule of rules) {
    const [only, second] = atTop.filter(rule);
    if (only !== undefined && second === undefined) return only;
  }
  return null;
}

function commonFolder(paths: readonly string[]): string {
  const [first = [], ...others] = paths.map((path) => folderOf(path).split("/"));
  const parts = [...first];
  const fits = (folder: readonly string[]) => parts.every((part, n) => folder[n] === part);
  while (parts.length > 0 && !others.every(fits)) parts.pop();
  return parts.join("/");
}

/** The suggested workflow name for one of several files: the name of its folder if the file name is too general. */
export function suggestedName(path: string): string {
  const folder = baseOf(folderOf(path));
  const name = nameFor(baseOf(path));
  return folder !== "" && (name === "workflow" || name === "index") ? nameFor(folder) : name;
}

/** An upload: the files, and the path of the workflow among them. A bundle is always a single file. */
export type Upload = { workflow: string; kind: FileKind | null; files: Files };

/** Prepares an upload. A single file gets a plain name; several files keep their paths. */
export function uploadOf(files: Files, workflow: string): Upload {
  const kind = kindOf(workflow);
  const file = files.get(workflow);
  if (!file || (files.size > 1 && kind !== "bundle")) return { workflow, kind, files };
  const name = sentNameOf(baseOf(workflow));
  return { workflow: name, kind, files: new Map([[name, file]]) };
}

export const bytesOf = (files: Files): number =>
  [...files.values()].reduce((sum, { size }) => sum + size, 0);

export function refusalOf(files: Files): string | null {
  if (files.size > most.files) return `More than ${most.files.toLocaleString("en-US")} files.`;
  return bytesOf(files) > most.bytes ? "More than 32 MB in total." : null;
}
