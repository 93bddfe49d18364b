/** The name of a tool as its registry has it: the documented `ReadFile` is the registry's `readFile`. */
export function houseName(name: string, known: readonly string[]): string {
  if (known.includes(name)) return name;
  const lower = name.charAt(0).toLowerCase() + name.slice(1);
  return known.includes(lower) ? lower : name;
}

const fields: Readonly<Record<string, string>> = {
  file_path: "path",
  old_string: "oldText",
  new_string: "newText",
  replace_all: "all",
  timeout: "timeoutMs",
};

/** A built-in tool's arguments with the documented names of the fields as the tool has them. */
export function houseInput(input: unknown): unknown {
  if (!isRecord(input)) return input;
  const renamed = Object.entries(input).map(([name, value]) => {
    const house = Object.hasOwn(fields, name) ? (fields[name] ?? name) : name;
    return [Object.hasOwn(input, house) ? name : house, value];
  });
  return Object.fromEntries(renamed);
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
