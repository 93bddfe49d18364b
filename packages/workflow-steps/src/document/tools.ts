/** The built-in tools, by their own names, each with the inputs that it takes under any name. */
const inputNames: Readonly<Record<string, string>> = {
  readFile: "file_path path offset limit",
  writeFile: "file_path path content",
  editFile: "file_path path old_string oldText new_string newText replace_all all",
  undoEdit: "undo_id undoId force",
  listFiles: "path pattern",
  search: "pattern path files ignoreCase plain",
  runCommand: "argv cwd input timeoutMs",
};

/** The name of a built-in tool as it is documented: `ReadFile`. */
export const documentedToolName = (name: string): string =>
  name.charAt(0).toUpperCase() + name.slice(1);

export const isBuiltInTool = (name: string): boolean => Object.hasOwn(inputNames, name);

/** What a bundle that is made of a file has: by their documented names, and by their own. */
export const builtInTools: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(inputNames).flatMap(([name, text]) => {
    const inputs = text.split(" ");
    return [[documentedToolName(name), inputs] as const, [name, inputs] as const];
  }),
);

/** The tools' own names of fields by the documented ones. */
export const ownFieldNames: ReadonlyMap<string, string> = new Map([
  ["file_path", "path"],
  ["old_string", "oldText"],
  ["new_string", "newText"],
  ["replace_all", "all"],
  ["undo_id", "undoId"],
  ["timeout", "timeoutMs"],
]);
