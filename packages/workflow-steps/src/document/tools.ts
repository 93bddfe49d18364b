/** The inputs of the built-in tools, by tool. Each entry lists all names of an input. */
const inputNames: Readonly<Record<string, string>> = {
  readFile: "file_path path offset limit",
  writeFile: "file_path path content",
  editFile: "file_path path old_string oldText new_string newText replace_all all",
  undoEdit: "undo_id undoId force",
  listFiles: "path pattern",
  search: "pattern path files ignoreCase plain",
  runCommand: "argv cwd input timeoutMs",
};

/** Returns the documented name of a built-in tool, such as `ReadFile`. */
export const documentedToolName = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1);

export const isBuiltInTool = (name: string): boolean => Object.hasOwn(inputNames, name);

/**
 * The inputs of the built-in tools, by each tool's documented name and own name. Bundles made from a file have these
 * tools.
 */
export const builtInTools: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(inputNames).flatMap(([name, text]) => {
    const inputs = text.split(" ");
    return [[documentedToolName(name), inputs] as const, [name, inputs] as const];
  }),
);

/** Maps each documented field name to the tool's own field name. */
export const ownFieldNames: ReadonlyMap<string, string> = new Map([
  ["file_path", "path"],
  ["old_string", "oldText"],
  ["new_string", "newText"],
  ["replace_all", "all"],
  ["undo_id", "undoId"],
  ["timeout", "timeoutMs"],
]);
