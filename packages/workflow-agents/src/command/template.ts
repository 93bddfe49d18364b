/**
 * A command's argv with the placeholders `{prompt}`, `{system}`, `{session}` and `{budget}` (the rest of the
 * thread's `maxCost`, in US dollars). A list inside it yields its arguments when all of its
 * placeholders have a value, and nothing otherwise: `["--resume", "{session}"]`.
 */
export type Template = readonly (string | readonly string[])[];

type Placeholder = "prompt" | "system" | "session" | "budget";

/** Matches a placeholder. A command itself is not a placeholder. */
export const placeholder = /\{(prompt|system|session|budget)\}/g;

/** Returns whether a command has a placeholder in its arguments. */
export const has = (template: Template, name: Placeholder): boolean =>
  template.flat().some((part) => part.includes(`{${name}}`));

/** Fills in a template. Null means a missing value. Braces in values are not placeholders. */
export function filled(template: Template, values: Record<Placeholder, string | null>): string[] {
  const fill = (part: string): string =>
    part.replace(placeholder, (_, name: Placeholder) => values[name] ?? "");
  return template.flatMap((part) => {
    if (typeof part === "string") return [fill(part)];
    const names = [...part.join("\n").matchAll(placeholder)].map(([, name]) => name as Placeholder);
    return names.every((name) => values[name] !== null) ? part.map(fill) : [];
  });
}
